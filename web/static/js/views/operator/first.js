// The request that sends an operator its first statistics.

/** @type {[key: string, cost: number, state: number][]} */
const example = [
  ['user:1', 40, 900],
  ['user:2', 25, 300],
  ['user:3', 12, 2048],
  ['user:4', 9, 512],
  ['user:5', 7, 128],
  ['user:6', 3, 64],
]

/**
 * The request, with what the configuration asks of rows.
 *
 * @param {Pick<API['Operator'], 'name' | 'instances' | 'table_owner' | 'hash' | 'resources'>} operator
 * @returns {Asked}
 */
export function firstStatistics(operator) {
  const path = `v1/operators/${encodeURIComponent(operator.name)}/plans`
  const ids = operator.instances.map((i) => i.id)
  if (operator.table_owner === 'engine') {
    const records = example.map(([, cost, state], i) => [ids[i % ids.length], ids[i % ids.length], cost, state, 1])
    return { path, body: { interval: 1, compact: { records } } }
  }
  const reported = operator.hash?.function === 'reported'
  const numbered = operator.hash?.key_type === 'int' || operator.hash?.key_type === 'long'
  const told = (operator.resources ?? []).slice(1).filter(({ from }) => !from)
  const columns = [
    'key',
    'cost',
    'state',
    ...told.map(({ name }) => `cost.${name}`),
    ...(reported ? ['hash_instance'] : []),
  ]
  const rows = example.map(([key, cost, state], i) => {
    const home = reported ? [ids[i % ids.length]] : []
    return [numbered ? 100 + i : key, cost, state, ...told.map(() => 2 * cost), ...home].join(',')
  })
  return {
    path,
    query: { interval: 1 },
    body: `${columns.join(',')}\n${rows.join('\n')}\n`,
    type: 'text/csv',
  }
}
