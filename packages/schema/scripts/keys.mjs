/**
 * The inner name of a wire name, by the SDK's own habit: `ImageId` is `imageId`, a leading acronym stays
 * (`DBInstanceIds`), a leading `V` of `VSwitch` and `VServer` does not count as one.
 *
 * @param {string} wire
 */
export function keyOf(wire) {
  if (/^[A-Z]{2}/.test(wire) && !/^(VSwitch|VServer)/.test(wire)) return wire;
  return wire[0].toLowerCase() + wire.slice(1);
}
