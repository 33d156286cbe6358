// Who has reported the newest interval, for engines whose instances report for themselves.

import { request, useResource } from '../../api.js'
import { count, counted } from '../../format.js'
import { html } from '../../html.js'
import { Instance } from '../../instances.js'
import { Card, loaded, plainTable, Time } from '../../parts.js'
import { intervalWords } from '../operator/plans.js'
import { someOf } from './instances.js'

const last = Number.MAX_SAFE_INTEGER // the greatest number that an interval can have

/**
 * The reports of the newest interval that anybody has reported. Nobody has reported the
 * last interval there can be, so its answer names the newest report of each instance.
 *
 * @param {string} name
 * @param {number} epoch
 * @param {AbortSignal} signal
 */
async function newest(name, epoch, signal) {
  /**
   * @param {number} interval
   * @returns {Promise<API['ReportList']>}
   */
  const ask = async (interval) =>
    (
      await request('GET', `v1/operators/${encodeURIComponent(name)}/intervals/${interval}/reports`, {
        query: { epoch },
        signal,
      })
    ).data
  const everywhere = await ask(last)
  const interval = Math.max(...[...everywhere.last, ...everywhere.received].map((r) => r.interval))
  return { data: Number.isFinite(interval) ? await ask(interval) : everywhere }
}

/**
 * Nothing where no instance ever reported.
 *
 * @param {{ operator: API['Operator'] }} props
 */
export function Reports({ operator }) {
  const epoch = operator.last_epoch ?? 0
  const reports = useResource(`v1/operators/${encodeURIComponent(operator.name)}/reports/${epoch}`, {
    every: 5_000,
    load: (signal) => newest(operator.name, epoch, signal),
  })
  if (reports.data === null && reports.problem === null) return null
  return loaded(reports, (data) =>
    data.received.length + data.last.length === 0 ? null : html`<${Newest} reports=${data} operator=${operator} />`,
  )
}

/** @param {{ reports: API['ReportList'], operator: API['Operator'] }} props */
function Newest({ reports: { interval, epoch, received, missing, last: older }, operator }) {
  const planned = operator.last_interval !== null && interval <= operator.last_interval
  /** @type {(Partial<API['ReceivedReport']> & { instance: number, here: boolean })[]} */
  const rows = [
    ...received.map((r) => ({ ...r, here: true })),
    ...missing.map((instance) => ({ ...older.find((r) => r.instance === instance), instance, here: false })),
  ].sort((a, b) => Number(a.here) - Number(b.here) || a.instance - b.instance)
  return html`<${Card}
    title=${`Reports of ${intervalWords({ interval, epoch })}`}
    aside=${planned ? 'planned' : 'not planned yet'}
  >
    <p role="status" class=${missing.length > 0 && !planned ? 'waiting' : ''}>
      ${
        missing.length === 0
          ? `All ${counted(received.length, 'instance')} have reported.`
          : `${count(received.length)} of ${counted(received.length + missing.length, 'instance')} have reported.` +
            ` Missing: ${someOf(operator, missing)}.`
      }
    </p>
    <details class="operator-instances" open=${rows.length <= 12}>
      <summary>Each instance</summary>
      ${plainTable('Reports of each instance', rows, [
        ['Instance', (r) => html`<${Instance} id=${r.instance} />`],
        [
          'Report',
          (r) =>
            r.here
              ? 'there'
              : r.at
                ? `missing; the last is of interval ${count(r.interval)}`
                : 'missing; there is no older one',
        ],
        ['Keys', (r) => count(r.rows), 'number'],
        ['Table version', (r) => count(r.table_version), 'number'],
        ['Came', (r) => html`<${Time} at=${r.at} />`],
      ])}
    </details>
  <//>`
}
