import { encrypt } from 'unixcrypt';

/** The crypt(3) hash (SHA-512, random salt) under which a guest's `/etc/shadow` keeps a password. */
export function hashPassword(password: string): string {
  return encrypt(password);
}
