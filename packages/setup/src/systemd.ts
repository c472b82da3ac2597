import { existsSync } from 'node:fs';

/** Whether systemd is the machine's first process (sd_booted(3)). */
export function hasSystemd(): boolean {
  return existsSync('/run/systemd/system');
}
