// Asks a running server for a plan with the types that openapi-typescript makes of
// the contract, carries it out, and fails when an answer is not what it has to be.
//
//   .ci/contract

import createClient from 'openapi-fetch'
import type { components, paths } from './contract.gen.js'

type Schemas = components['schemas']

// The plan moves a key: among the kinds of migrations, what has a key is that of one.
const isOfKey = (m: Schemas['PlanMigration']): m is Schemas['Migration'] => !Array.isArray(m) && 'key' in m

function must<T>(what: string, answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) {
    throw new Error(`${what}: ${JSON.stringify(answer.error)}`)
  }
  return answer.data
}

function same(what: string, got: unknown, want: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(want)) {
    throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`)
  }
}

// The way of an engine: the operator, the statistics of an interval, the plan, its
// commit, the routing table.
export async function main(url: string): Promise<void> {
  const client = createClient<paths>({ baseUrl: url })
  const operator = { path: { operator: 'typescript-client' } }
  const created = must(
    'creating the operator',
    await client.PUT('/v1/operators/{operator}', {
      params: operator,
      body: { instances: 2, theta_max: 0.08, table_limit: 3000 },
    }),
  )
  same('scheme', created.scheme, 'table')

  // Instance 1 carries 20 of 35.
  const planned = must(
    'planning',
    await client.POST('/v1/operators/{operator}/plans', {
      params: operator,
      body: {
        interval: 1,
        columns: {
          key: ['user:1', 'user:2', 'user:3', 'user:4', 'user:5'],
          cost: [12, 9, 3, 5, 6],
          state: [2048, 512, 64, 900, 300],
        },
      },
    }),
  )
  same('status', planned.status, 'approved')
  const moved = (planned.migrations ?? []).filter(isOfKey).map((m) => [m.key, m.from, m.to, m.state])
  same('migrations', moved, [['user:3', 1, 0, 64]])

  const plan = { path: { id: planned.id } }
  const read = must(
    'reading the plan',
    await client.GET('/v1/plans/{id}', {
      params: { ...plan, query: { include: ['routing_table'] } },
    }),
  )
  same('entries after', read.routing_table?.size_after, 1)

  const committed = must('committing', await client.POST('/v1/plans/{id}/commit', { params: plan, body: { stopped: true } }))
  same('status', committed.status, 'committed')
  const table = must(
    'reading the routing table',
    await client.GET('/v1/operators/{operator}/routing-table', {
      params: operator,
    }),
  )
  if (typeof table === 'string') {
    throw new Error('the routing table came as text')
  }
  same('version', table.version, committed.version)
  same('entries', table.entries, [{ key: 'user:3', instance: 0 }])

  const absent = await client.GET('/v1/operators/{operator}', { params: { path: { operator: 'absent' } } })
  const code: Schemas['Code'] | undefined = absent.error?.code
  same('code', code, 'operator_not_found')
}
