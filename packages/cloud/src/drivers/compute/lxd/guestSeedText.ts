import { ComputeError, type GuestSeed } from '../driver.js';

/** Configuration key from which the image's template takes the seed. */
export const seedKey = 'user.egs.seed';

/**
 * The seed as the guest reads it: one `name value` line for each fact. Values are one line each by nature,
 * and refused if they are not, since a second line could be taken for another fact.
 */
export function formatGuestSeed(seed: GuestSeed): string {
  const facts: (readonly [string, string])[] = [
    ['instance-id', seed.instanceId],
    ['host-name', seed.hostName],
  ];
  if (seed.passwordHash !== undefined) facts.push(['password-hash', seed.passwordHash]);
  for (const key of seed.authorizedKeys) facts.push(['authorized-key', key.trim()]);
  if (seed.userDataBase64) facts.push(['user-data', seed.userDataBase64]);
  for (const [name, value] of facts) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    if (/[\u0000-\u001f\u007f]/.test(value)) {
      throw new ComputeError(
        'refused',
        `The ${name} of instance ${seed.instanceId} contains a control character`,
      );
    }
  }
  return `${facts.map(([name, value]) => `${name} ${value}`).join('\n')}\n`;
}
