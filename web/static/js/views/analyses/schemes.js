// The answer to a comparison of all schemes.

import { axis, boundMark, Chart } from '../../chart.js'
import { amount, count, counted, percent, state, stateOnly, useStateUnit } from '../../format.js'
import { html } from '../../html.js'
import { Card, plainTable, Stats } from '../../parts.js'
import { fine, namesAside } from './drawing.js'

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
  return html`
    <${Card} title="Recommendation" class="analyses-recommended">
      <p class="analyses-verdict">${schemeWords[r.scheme] ?? r.scheme}</p>
      <p>${ruleWords[r.rule] ?? ''}</p>
      <p class="muted">${r.reason}</p>
    <//>
    <${Stats}
      items=${[
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
      ]}
    />
    <div class="grid">
      <${Card} class="half" title="Greatest overload θ">
        <${Bars}
          schemes=${schemes}
          of=${(s) => s.theta}
          format=${fine}
          line=${{ at: result.theta_max, words: 'θ_max' }}
          words="Greatest overload of each scheme"
          best=${r.scheme}
        />
      <//>
      <${Card} class="half" title="State that moves to get there">
        <${Bars}
          schemes=${schemes}
          of=${(s) => s.state_fraction}
          format=${percent}
          words="Part of the state that each scheme moves"
          best=${r.scheme}
        />
      <//>
      <${Card} class="half" title="Pairs of an instance and a key">
        <${Bars}
          schemes=${schemes}
          of=${(s) => s.pairs}
          format=${amount}
          words="Pairs of an instance and a key that each scheme holds"
          best=${r.scheme}
        />
      <//>
      <${Card} class="half" title="Messages to merge in a period">
        <${Bars}
          schemes=${schemes}
          of=${(s) => s.aggregation_messages}
          format=${amount}
          words="Messages that have to be merged in a period"
          best=${r.scheme}
        />
      <//>
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

/**
 * @param {object} props
 * @param {Scheme[]} props.schemes
 * @param {(scheme: Scheme) => number} props.of
 * @param {(x: number) => string} props.format
 * @param {{ at: number, words: string }} [props.line]
 * @param {string} props.words
 * @param {string} props.best
 */
function Bars({ schemes, of, format, line, words, best }) {
  return html`<${Chart}
    height=${60 + 26 * schemes.length}
    label="${words}: ${schemes.map((s) => `${nameOf(s)} ${format(of(s))}`).join('; ')}.${
      line ? ` ${line.words} is ${format(line.at)}.` : ''
    }"
    depends=${[schemes]}
    data=${{
      rows: schemes,
      columns: [
        ['Scheme', nameOf],
        [words, (/** @type {Scheme} */ s) => format(of(s)), 'number'],
      ],
    }}
    option=${(p, width) => {
      const names = namesAside(p, schemes.map(nameOf), width)
      return {
        grid: { left: names.left, right: 60, top: 20, bottom: 24 },
        tooltip: {
          trigger: 'axis',
          axisPointer: { type: 'shadow' },
          formatter: (/** @type {{ dataIndex: number }[]} */ [{ dataIndex: i }]) =>
            `${nameOf(schemes[i])}: ${format(of(schemes[i]))}`,
        },
        xAxis: axis(p, {
          type: 'value',
          min: 0,
          max: (/** @type {{ max: number }} */ v) => Math.max(v.max, line?.at ?? 0) || 1,
          axisLabel: { formatter: format, showMaxLabel: false },
        }),
        yAxis: names.axis,
        series: [
          {
            type: 'bar',
            barMaxWidth: 16,
            data: schemes.map((s) => ({ value: of(s), itemStyle: { color: s.scheme === best ? p.after : p.before } })),
            label: {
              show: true,
              position: 'right',
              color: p.text,
              formatter: (/** @type {{ value: number }} */ { value }) => format(value),
            },
            markLine: line && boundMark(p, [{ xAxis: line.at, name: line.words }], 'start'),
          },
        ],
      }
    }}
  />`
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
