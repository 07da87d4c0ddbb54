import { runCli } from './program.ts'

// A reader that stops early, such as `head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

// `npm run holdfast` runs in the folder of package.json. Files are named from the folder of the caller.
const { npm_lifecycle_event: script, INIT_CWD: callerFolder } = process.env
if (script === 'holdfast' && callerFolder) process.chdir(callerFolder)

process.exitCode = await runCli(process.argv.slice(2), {
  input: process.stdin,
  output: process.stdout,
  errors: process.stderr,
  env: process.env,
})
