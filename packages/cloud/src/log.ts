import { type Logger, pino } from 'pino';

/** A log of JSON lines on standard error: standard output is for the ready line. */
export function createLog(level: string): Logger {
  return pino({ level }, pino.destination({ fd: 2, sync: true }));
}
