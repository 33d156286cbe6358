// Simulations of a ring, and the experiments of the paper beside its numbers.

import { amount, count, counted, exactly } from '../../format.js'
import { html } from '../../html.js'
import { Card, PlainTable } from '../../parts.js'

/** @import { Column } from '../../parts.js' */

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
    <${PlainTable}
      caption="Simulated runs"
      rows=${rows}
      rowKey=${(/** @type {{ name: string }} */ r) => r.name}
      columns=${
        /** @type {Column<{ name: string, run: API['RingRun'] }>[]} */ ([
          { head: 'Run', of: (r) => r.name },
          { head: 'Skew S', of: (r) => amount(r.run.skew), number: true },
          { head: 'Ticks until done', of: (r) => count(r.run.ticks), number: true },
          { head: 'of which merge', of: (r) => count(r.run.merge_ticks), number: true },
          { head: 'Forwarded', of: (r) => count(r.run.forwarded), number: true },
          { head: 'Split keys', of: (r) => count(r.run.split_keys), number: true },
          { head: 'Rounds', of: (r) => count(r.run.rounds), number: true },
          {
            head: 'In vain',
            of: ({ run }) => count(run.exhausted + run.out_of_rounds + run.over_token_limit),
            number: true,
          },
        ])
      }
    />
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
    <div class="analyses-tall">
      <${PlainTable}
        caption="Changes of the ring while it ran: ${schemeWords[scheme].toLowerCase()}"
        rows=${run.events}
        columns=${
          /** @type {Column<API['RingEvent']>[]} */ ([
            { head: 'Tick', of: (e) => count(e.tick), number: true },
            { head: 'Node', of: (e) => e.node, number: true },
            { head: 'What', of: (e) => (e.join ? 'joined' : 'was relieved') },
            { head: 'Its queue', of: (e) => exactly(e.longest), number: true },
            { head: 'Second longest', of: (e) => exactly(e.second), number: true },
            { head: 'Keys moved', of: (e) => count(e.keys), number: true },
          ])
        }
      />
    </div>
  `
}

/** @param {{ rows: API['RingPaperRow'][] }} props */
export function Paper({ rows }) {
  return html`<${Card} title="The paper's experiments">
    <p>
      The skews S that the paper gives, and those of simulations by many seeds: the median, and from the least to the
      greatest.
    </p>
    <${PlainTable}
      caption="Published and simulated skews"
      rows=${rows}
      columns=${
        /** @type {Column<API['RingPaperRow']>[]} */ ([
          { head: 'Workload', of: (r) => r.workload },
          { head: 'Method', of: (r) => methodWords[r.method] },
          { head: 'Rounds', of: (r) => count(r.max_rounds), number: true },
          { head: 'Published before', of: (r) => amount(r.published_baseline), number: true },
          { head: 'here', of: (r) => amount(r.baseline), number: true },
          { head: 'Published after', of: (r) => amount(r.published_balanced), number: true },
          {
            head: 'here',
            of: (r) => `${amount(r.balanced.median)} (${amount(r.balanced.least)}–${amount(r.balanced.greatest)})`,
            number: true,
          },
          { head: 'Proven: not below', of: (r) => amount(r.floor), number: true },
        ])
      }
    />
  <//>`
}
