/** A serial number is the UUID of its certificate without hyphens. */
export const serialOf = (uuid: string): string => uuid.replaceAll('-', '')
export const uuidOfSerial = (serial: string): string =>
  `${serial.slice(0, 8)}-${serial.slice(8, 12)}-${serial.slice(12, 16)}-${serial.slice(16, 20)}-${serial.slice(20)}`
