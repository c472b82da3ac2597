/** The UUIDs and profiles of the MIG parts that `nvidia-smi -L` lists, by the UUID of their card. */
export type MigListing = ReadonlyMap<string, readonly { readonly uuid: string; readonly profile: string }[]>;

const cardLine = /^GPU \d+: .*\(UUID: (GPU-[0-9a-f-]+)\)/;
const partLine = /^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)]+)\)/;

/** Reads `nvidia-smi -L`. Only this listing tells the UUIDs of MIG parts. */
export function parseMigListing(text: string): MigListing {
  const listing = new Map<string, { uuid: string; profile: string }[]>();
  let parts: { uuid: string; profile: string }[] | undefined;
  for (const line of text.split('\n')) {
    const card = cardLine.exec(line)?.[1];
    if (card !== undefined) {
      parts = [];
      listing.set(card, parts);
    }
    const [, profile, uuid] = partLine.exec(line) ?? [];
    if (profile !== undefined && uuid !== undefined) parts?.push({ uuid, profile });
  }
  return listing;
}
