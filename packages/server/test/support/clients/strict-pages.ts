import assert from 'node:assert/strict'
import type { Contract, Output } from '@holdfast/contract'
import type { Got } from './raw-http.ts'

/** The headers of console.md and docs/security.md, written out here so that the test does not share the code. */
const strictHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), usb=(), payment=()',
  'x-frame-options': 'DENY',
}

/** Asserts the headers of a page, and of each file that it loads. */
export function assertStrictHeaders(got: Pick<Got, 'headers'>, cacheControl: string, about = ''): void {
  // One page posts to the user's own machine: it passes a SAML response to the agent that waits there.
  const policy = String(got.headers['content-security-policy']).replace(
    /form-action http:\/\/127\.0\.0\.1:\d+;/,
    "form-action 'self';",
  )
  const headers: Record<string, unknown> = { ...got.headers, 'content-security-policy': policy }
  const expected = { ...strictHeaders, 'cache-control': cacheControl }
  const names = Object.keys(expected)
  assert.deepEqual(Object.fromEntries(names.map((name) => [name, headers[name]])), expected, about)
}

/** Asserts that an HTML page has the strict headers, and nothing inline that would need weaker ones. */
export function assertStrictPage(got: Pick<Got, 'headers' | 'text'>, about = ''): void {
  assertStrictHeaders(got, 'no-store', about)
  assert.equal(got.headers['content-type'], 'text/html; charset=utf-8', about)
  assert.match(got.text, /^<!doctype html>\n<html lang="en"[^>]*>/, about)
  for (const [tag] of got.text.matchAll(/<[a-z][^>]*>/gi)) {
    assert.doesNotMatch(tag, /\s(?:style|on\w+|srcdoc)\s*=|javascript:|<style/i, about)
    if (/^<script/i.test(tag)) assert.match(tag, /\ssrc="\/admin\/assets\/|type="application\/json"/, about)
  }
}

/** The data block in the console's page. */
export function bootOf(text: string): { me: Output<Contract['me']>; version: string } {
  const block = /<script type="application\/json" id="boot">([\s\S]*?)<\/script>/.exec(text)?.[1]
  return JSON.parse(block ?? assert.fail(`no boot block in ${text.slice(0, 200)}`))
}
