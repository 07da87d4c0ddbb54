import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { loadModule } from 'libpg-query'
import { locksOf, orderOf } from './locks.ts'

before(loadModule)

test('the locks of a statement are found, with or without an order', () => {
  const said = (text: string) => locksOf(text).map((l) => `${l.table}${l.isOrdered ? '' : ' in no order'}`)
  const of = 'tenant_id = $1'
  assert.deepEqual(said(`select * from devices where ${of}`), [])
  assert.deepEqual(said(`select 1 from devices d where d.${of} for update`), ['devices in no order'])
  assert.deepEqual(said(`select 1 from devices d where d.${of} order by device_id for no key update`), ['devices'])
  assert.deepEqual(said(`select 1 from devices d join users u on true where d.${of} order by 1 for share of u`), [
    'users',
  ])
  assert.deepEqual(said(`update devices set name = $2 where ${of} and device_id = $3`), ['devices'])
  assert.deepEqual(said(`update devices set name = $2 where ${of} and (device_id = $3 or true)`), [
    'devices in no order',
  ])
  assert.deepEqual(said(`update devices set name = $2 where ${of} and device_id = any($3)`), ['devices in no order'])
  assert.deepEqual(said(`delete from group_members where ${of} and group_id = $2`), ['group_members in no order'])
  assert.deepEqual(said(`delete from group_members where ${of} and group_id = $2 and user_id = $3`), ['group_members'])
  const locked = (order: string) => `with locked as (select device_id from devices where ${of} ${order} for update)
    update devices d set name = '' from locked where d.${of} and d.device_id = locked.device_id`
  assert.deepEqual(said(locked('order by device_id')), ['devices', 'devices'])
  assert.deepEqual(said(locked('')), ['devices in no order', 'devices in no order'])
  const upsert = (order: string) => `insert into device_activity select * from unnest($1::uuid[]) ${order}
    on conflict (tenant_id, device_id) do update set last_seen_at = now()`
  assert.deepEqual([upsert(''), upsert('order by 1')].flatMap(said), ['device_activity in no order', 'device_activity'])
})

test('contradicting lock orders are found, across a third table too', () => {
  const course = (...tables: string[]) => tables.map((table) => ({ table, origin: table }))
  assert.deepEqual(orderOf([course('a', 'b', 'c'), course('a', 'c'), course('b', 'c', 'b')]).opposite, [])
  assert.equal(orderOf([course('a', 'b'), course('b', 'a')]).opposite.length, 2)
  assert.equal(orderOf([course('a', 'b'), course('b', 'c'), course('c', 'a')]).opposite.length, 3)
})
