// The instances of an operator, in as few rows as tell everything.

import { count, counted, exactly, percent } from '../../format.js'
import { html } from '../../html.js'
import { Card, PlainTable } from '../../parts.js'

/** Instances of consecutive ids that are alike, together. */
export function runsOf(instances) {
  const out = []
  for (const { id, capacity = 1, tokens = null } of instances) {
    const last = out.at(-1)
    if (last && last.to === id - 1 && last.capacity === capacity && last.tokens === tokens) last.to = id
    else out.push({ from: id, to: id, capacity, tokens })
  }
  return out.map((run) => ({ ...run, number: run.to - run.from + 1 }))
}

const few = 12 // rows that are shown at once

export function Instances({ operator }) {
  const { instances } = operator
  const runs = runsOf(instances)
  const total = instances.reduce((sum, i) => sum + (i.capacity ?? 1), 0)
  const tokens = operator.hash?.tokens_per_instance
  const columns = [
    { head: 'Ids', of: ({ from, to }) => (from === to ? String(from) : `${from}–${to}`) },
    { head: 'Instances', number: true, of: (run) => count(run.number) },
    { head: 'Capacity', number: true, of: (run) => exactly(run.capacity) },
    { head: 'Fair share of each', number: true, of: (run) => percent(run.capacity / total) },
    ...(tokens === undefined ? [] : [{ head: 'Tokens of each', number: true, of: (run) => count(run.tokens ?? tokens) }]),
  ]
  const table = html`<${PlainTable} caption="Instances" columns=${columns} rows=${runs} rowKey=${(run) => run.from} />`
  return html`<${Card} title="Instances" aside=${`${counted(instances.length, 'instance')}, capacity ${exactly(Number(total.toPrecision(12)))} in all`}>
    ${runs.length <= few ? table : html`<details class="operator-instances"><summary>${counted(runs.length, 'group')} of instances that are alike</summary>${table}</details>`}
    ${operator.scheme === 'ring' && html`<p class="muted">The tokens are those that an instance begins with; plans change them.</p>`}
  <//>`
}
