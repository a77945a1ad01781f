/** Dates as fields and labels show them, in the time zone of this computer. */

/** For a field of the type `datetime-local`. */
export function localField(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}
