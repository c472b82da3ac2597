/** `2020-09-11T08:30:55Z`, the form of most times in the API. */
export function toSecondsTime(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** `2017-12-10T04:04Z`, the form of an instance's times and of time filters. Takes any ISO 8601 text. */
export function toMinuteTime(time: string): string {
  return `${time.slice(0, 16)}Z`;
}
