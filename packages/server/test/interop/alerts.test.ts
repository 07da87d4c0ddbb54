import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runOnFiles, without } from './tools.ts'

const rules = readFileSync(join(import.meta.dirname, '../../../../docs/deploy/alerts.yml'), 'utf8')

test('promtool accepts the alert rules of the deployment guide', { skip: without('promtool') }, async () => {
  const { status, stdout, stderr } = await runOnFiles('promtool', { 'alerts.yml': rules }, [
    'check',
    'rules',
    'alerts.yml',
  ])
  assert.equal(status, 0, stdout + stderr)
})

/** Series of two replicas in steps of a minute, and the alerts that are expected at the tenth minute. */
const cases = {
  'both replicas and the database answer': {
    series: { 'up{job="holdfast",instance="a"}': '1x20', 'up{job="holdfast",instance="b"}': '1x20' },
    alerts: [],
  },
  'one replica does not answer': {
    series: { 'up{job="holdfast",instance="a"}': '0x20', 'up{job="holdfast",instance="b"}': '1x20' },
    alerts: ['HoldfastReplicaDown'],
  },
  'no replica gets an answer of the database': {
    series: { 'holdfast_database_up{instance="a"}': '0x20', 'holdfast_database_up{instance="b"}': '0x20' },
    alerts: ['HoldfastDatabaseDown'],
  },
  'one request in fifty fails': {
    series: {
      'holdfast_http_requests_total{status="200"}': '0+98x20',
      'holdfast_http_requests_total{status="500"}': '0+2x20',
    },
    alerts: ['HoldfastErrors'],
  },
  'a job fails each minute': {
    series: { 'holdfast_job_runs_total{task="issue_crls",outcome="failed"}': '0+1x20' },
    alerts: ['HoldfastJobFails'],
  },
}

test('the alert rules fire for a fault, and not without one', { skip: without('promtool') }, async () => {
  const names = [...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name!)
  const tests = Object.entries(cases).map(([name, { series, alerts }]) => ({
    name,
    interval: '1m',
    input_series: Object.entries(series).map(([of, values]) => ({ series: of, values })),
    // promtool compares labels too, so a count of firing alerts is asked for.
    promql_expr_test: names.map((alert) => ({
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
      eval_time: '15m',
      exp_samples: [{ labels: '{}', value: (alerts as string[]).includes(alert) ? 1 : 0 }],
    })),
  }))
  const question = JSON.stringify({ rule_files: ['alerts.yml'], evaluation_interval: '1m', tests })
  const files = { 'alerts.yml': rules, 'tests.yml': question }
  const { status, stdout, stderr } = await runOnFiles('promtool', files, ['test', 'rules', 'tests.yml'])
  assert.equal(status, 0, stdout + stderr)
})
