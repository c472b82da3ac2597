import { randomBytes } from 'node:crypto';

/** Random text of an alphabet of at most 256 characters, each as likely as the others. */
export function randomText(alphabet: string, length: number): string {
  const usable = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // Larger values would favour the first letters.
      if (byte < usable && text.length < length) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}
