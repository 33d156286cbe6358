// Simulations of a ring, and the experiments of the paper beside its numbers.

import { amount, count, counted, exactly } from '../../format.js'
import { html } from '../../html.js'
import { Card, plainTable } from '../../parts.js'

/** @type {Record<string, string>} */
const schemeWords = { final_merge: 'Final merge', state_forwarding: 'State forwarding', old_owner: 'Old owner' }
/** @type {Record<string, string>} */
const methodWords = { halving: 'Halving', doubling: 'Doubling', none: 'None' }

/** @param {{ runs: API['RingSimulation'][] }} props */
export function Simulations({ runs }) {
  const rows =
    runs.length === 0
      ? []
      : [
          { name: 'Without balancing', run: runs[0].baseline },
          ...runs.map((r) => ({
            name: `${methodWords[r.method]}, ${schemeWords[r.state_scheme].toLowerCase()}`,
            run: r.balanced,
          })),
        ]
  return html`<${Card} title="Simulation of ${counted(runs[0]?.messages ?? 0, 'message')}">
    <p>
      ${
        runs.every((r) => r.balanced.consistent && r.baseline.consistent)
          ? 'After the merge every run has counted exactly what a direct count gives.'
          : 'A run has not counted what a direct count gives.'
      }
    </p>
    ${plainTable('Simulated runs', rows, [
      ['Run', (r) => r.name],
      ['Skew S', (r) => amount(r.run.skew), 'number'],
      ['Ticks until done', (r) => count(r.run.ticks), 'number'],
      ['of which merge', (r) => count(r.run.merge_ticks), 'number'],
      ['Forwarded', (r) => count(r.run.forwarded), 'number'],
      ['Split keys', (r) => count(r.run.split_keys), 'number'],
      ['Rounds', (r) => count(r.run.rounds), 'number'],
      ['In vain', ({ run }) => count(run.exhausted + run.out_of_rounds + run.over_token_limit), 'number'],
    ])}
    ${runs.map(
      ({ state_scheme: scheme, balanced }) => html`<${Events} key=${scheme} scheme=${scheme} run=${balanced} />`,
    )}
  <//>`
}

/** @param {{ scheme: string, run: API['RingRun'] }} props */
function Events({ scheme, run }) {
  if (run.event_count === 0)
    return html`<p class="hint">With ${schemeWords[scheme].toLowerCase()} the ring never changed.</p>`
  return html`
    <h3>Changes of the ring: ${schemeWords[scheme].toLowerCase()}</h3>
    ${
      run.events.length < run.event_count &&
      html`<p class="hint">The first ${count(run.events.length)} of ${count(run.event_count)}.</p>`
    }
${plainTable(`Changes of the ring while it ran: ${schemeWords[scheme].toLowerCase()}`, run.events, [
  ['Tick', (e) => count(e.tick), 'number'],
  ['Node', (e) => e.node, 'number'],
  ['What', (e) => (e.join ? 'joined' : 'was relieved')],
  ['Its queue', (e) => exactly(e.longest), 'number'],
  ['Second longest', (e) => exactly(e.second), 'number'],
  ['Keys moved', (e) => count(e.keys), 'number'],
])}
`
}

/** @param {{ rows: API['RingPaperRow'][] }} props */
export function Paper({ rows }) {
  return html`<${Card} title="The paper's experiments">
    <p>
      The skews S that the paper gives, and those of simulations by many seeds: the median, and from the least to the
      greatest.
    </p>
    ${plainTable('Published and simulated skews', rows, [
      ['Workload', (r) => r.workload],
      ['Method', (r) => methodWords[r.method]],
      ['Rounds', (r) => count(r.max_rounds), 'number'],
      ['Published before', (r) => amount(r.published_baseline), 'number'],
      ['here', (r) => amount(r.baseline), 'number'],
      ['Published after', (r) => amount(r.published_balanced), 'number'],
      [
        'here',
        (r) => `${amount(r.balanced.median)} (${amount(r.balanced.least)}–${amount(r.balanced.greatest)})`,
        'number',
      ],
      ['Proven: not below', (r) => amount(r.floor), 'number'],
    ])}
  <//>`
}
