import type { OutputOf } from './client.ts'

export type Me = OutputOf<'GET /v1/admin/me'>
/** Data that the server writes into the page: `<script type="application/json" id="boot">`. */
type Boot = { me: Me; version: string }

/** Reads the block once; the page can't work without it. */
export function readBoot(): Boot {
  const text = document.getElementById('boot')?.textContent
  if (!text) throw new Error('the page has no boot block')
  return JSON.parse(text) as Boot
}
