// The answer to a comparison of all schemes.

import { amount, count, counted, percent, state, stateOnly, useStateUnit } from '../../format.js'
import { html } from '../../html.js'
import { Card, plainTable, stats } from '../../parts.js'
import { fine, namedBars } from './drawing.js'

/** @import { Line } from './drawing.js' */

/** @typedef {API['SchemeFigures']} Scheme */

/** @type {Record<string, string>} */
const schemeWords = {
  hash_modulo: 'Hash modulo',
  hash_ring: 'Hash ring',
  ring: 'Token ring',
  pkg: 'Partial key grouping',
  mixed: 'Routing table, Mixed',
  optimal: 'Routing table, optimal',
  split: 'Routing table, keys split',
  split_priced: 'Routing table, more split',
  ranges: 'Key ranges',
}

/** @type {Record<string, string>} */
const ruleWords = {
  hash_is_balanced: 'Plain hashing is within the tolerance: nothing else is needed.',
  table_balances: 'A routing table is within the tolerance, with every key on one instance.',
  tokens_balance: 'Token counts alone are within the tolerance.',
  intervals_balance: 'Intervals of keys are within the tolerance.',
  split_keys_balance: 'No scheme that keeps keys whole is within the tolerance; splitting them is.',
  closest: 'No scheme is within the tolerance: this one comes closest.',
}

/**
 * The name of a scheme, with what was found best within it.
 *
 * @param {Scheme} s
 */
const nameOf = (s) =>
  `${schemeWords[s.scheme] ?? s.scheme}${s.method ? `, ${s.method}` : ''}${s.choices ? `, d = ${s.choices}` : ''}`

/** @param {{ result: API['SchemesResult'] }} props */
export function Schemes({ result }) {
  useStateUnit()
  const { recommendation: r, schemes } = result
  /** @type {(title: string, words: string, of: (s: Scheme) => number, format: typeof fine, line?: Line) => Children} */
  const bars = (title, words, of, format, line) =>
    html`<${Card} class="half" title=${title}>
      ${namedBars(
        schemes.map((s) => ({ name: nameOf(s), value: of(s), best: s.scheme === r.scheme })),
        'Scheme',
        words,
        format,
        { line },
      )}
    <//>`
  return html`
    <${Card} title="Recommendation" class="analyses-recommended">
      <p class="analyses-verdict">${schemeWords[r.scheme] ?? r.scheme}</p>
      <p>${ruleWords[r.rule] ?? ''}</p>
      <p class="muted">${r.reason}</p>
    <//>
    ${stats([
      { label: 'Keys', value: count(result.keys), note: `cost ${amount(result.cost)}, ${state(result.state)}` },
      { label: 'Instances', value: count(result.instances), note: `tolerance θ_max = ${percent(result.theta_max)}` },
      {
        label: 'Costliest key p₁',
        value: percent(result.p1),
        note: `a fair share is ${percent(1 / result.instances)}`,
      },
      {
        label: 'Least θ with whole keys',
        value: percent(result.least_theta),
        note: result.least_theta > 0 ? 'because of the costliest key' : 'no key is above a fair share',
        tone: result.least_theta > result.theta_max ? 'warn' : undefined,
      },
    ])}
    <div class="grid">
      ${bars('Greatest overload θ', 'Greatest overload of each scheme', (s) => s.theta, fine, {
        at: result.theta_max,
        words: 'θ_max',
      })}
      ${bars(
        'State that moves to get there',
        'Part of the state that each scheme moves',
        (s) => s.state_fraction,
        percent,
      )}
      ${bars(
        'Pairs of an instance and a key',
        'Pairs of an instance and a key that each scheme holds',
        (s) => s.pairs,
        amount,
      )}
      ${bars(
        'Messages to merge in a period',
        'Messages that have to be merged in a period',
        (s) => s.aggregation_messages,
        amount,
      )}
    </div>
    <${Card} title="Figures">
      <${Figures} schemes=${schemes} />
      ${
        result.sampled &&
        html`<p class="hint">
          The stream of partial key grouping was drawn, ${counted(result.messages, 'message')}: its pairs and messages
          are those of a sample.
        </p>`
      }
    <//>
  `
}

/** @param {{ schemes: Scheme[] }} props */
const Figures = ({ schemes }) =>
  plainTable('Figures of all schemes', schemes, [
    ['Scheme', nameOf],
    ['θ', (s) => fine(s.theta), 'number'],
    [
      'Over seeds',
      (s) => (s.over_seeds ? `${fine(s.over_seeds.least)} – ${fine(s.over_seeds.greatest)}` : '–'),
      'number',
    ],
    [
      'Balanced',
      (s) =>
        html`<strong class="toned ${s.balanced ? 'good' : 'bad'}">
            ${s.balanced ? 'yes' : 'no'}
            ${s.table_within_limit ? '' : ', beyond the table limit'}
          </strong>`,
    ],
    ['Keys whole', (s) => (s.keeps_keys ? 'yes' : 'no')],
    ['Imbalance', (s) => fine(s.imbalance), 'number'],
    ['Pairs', (s) => count(s.pairs), 'number'],
    ['Table entries', (s) => count(s.table_entries), 'number'],
    ['Tokens', (s) => count(s.tokens), 'number'],
    ['Intervals', (s) => count(s.intervals), 'number'],
    ['Keys moved', (s) => count(s.keys_moved), 'number'],
    ['State moved', (s) => stateOnly(s.state_moved), 'number'],
    ['To merge', (s) => amount(s.aggregation_messages), 'number'],
  ])
