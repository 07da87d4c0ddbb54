// All that is loaded while PostgreSQL starts, which is most of the code.
export { createApp } from './app.ts'
export { bootstrap } from './bootstrap.ts'
export { startJobs } from './jobs/runner.ts'
