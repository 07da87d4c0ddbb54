/** The only file that reads the environment. */
export const readEnv = (): Record<string, string | undefined> => ({ ...process.env })
