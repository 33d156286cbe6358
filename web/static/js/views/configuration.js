// How an operator is configured, and what follows from it: who has reported, and the
// request that would configure another one alike.

import { count } from '../format.js'
import { html } from '../html.js'
import { Card, Code } from '../parts.js'
import { commandOf } from '../shell.js'
import { policyWords } from './backtest/table.js'
import { configurationOf, putRequest } from './configuration/request.js'
import { groupsOf } from './configuration/groups.js'
import { Instances } from './configuration/instances.js'
import { ResourcesAndForm } from './configuration/edit.js'
import { Rules } from './configuration/rules.js'
import { Reports } from './configuration/reports.js'
import { ConfigurationVersions } from './operator/changes.js'
import { Page } from './operator/page.js'

/** @import { Setting } from './configuration/groups.js' */

/** @param {{ operator: string, query: Query }} props */
export default function View({ operator: name, query }) {
  return html`<${Page}
    name=${name}
    tab="configuration"
    render=${(
      /** @type {API['Operator']} */ operator,
      /** @type {unknown} */ _,
      /** @type {() => void} */ reload,
    ) => html`
      ${operator.table_config_version !== operator.config_version && html`<${Pinned} operator=${operator} />`}
      ${query.policy && html`<${Proposed} operator=${operator} text=${query.policy} />`}
      <div class="operator-groups">
        <${Instances} operator=${operator} />
        <${ResourcesAndForm} operator=${operator} reload=${reload} />
        <${Rules} operator=${operator} />
        ${groupsOf(operator).map((group) => html`<${Group} key=${group.title} ...${group} />`)}
      </div>
      <${ConfigurationVersions} operator=${operator} />
      <${Reports} operator=${operator} />
      <${AsRequest} operator=${operator} />
    `}
  />`
}

/**
 * The committed table is not of this configuration.
 *
 * @param {{ operator: API['Operator'] }} props
 */
function Pinned({ operator: o }) {
  return html`<p class="stale operator-pinned">
    The committed table, version ${count(o.table_version)}, pins configuration version ${count(o.table_config_version)};
    what is shown here is version ${count(o.config_version)}. Routers go by the instances and the hash of the pinned one
    until a plan made under the newer one is committed.
  </p>`
}

/**
 * A policy that a link brings, and the request that sets it.
 *
 * @param {{ operator: API['Operator'], text: string }} props
 */
function Proposed({ operator, text }) {
  const policy = policyOf(text)
  if (!policy) return html`<p class="stale">The policy in the link is not valid.</p>`
  return html`<${Card} title="Use another policy" class="operator-policy">
    <p><strong>${policyWords(policy, operator.theta_max)}</strong></p>
    <p>It is not in effect yet: this sets it, and leaves the rest of the configuration as it is.</p>
    <${Code}
      label="Command that sets the policy"
      text=${commandOf({
        method: 'PATCH',
        path: `v1/operators/${encodeURIComponent(operator.name)}`,
        body: JSON.stringify({ policy }),
        type: 'application/merge-patch+json',
      })}
    />
  <//>`
}

/**
 * @param {string} text
 * @returns {API['Policy'] | null}
 */
function policyOf(text) {
  try {
    const policy = JSON.parse(text)
    return typeof policy?.forecast?.method === 'string' ? policy : null
  } catch {
    return null
  }
}

/** @param {{ title: string, rows: Setting[] }} props */
function Group({ title, rows }) {
  return html`<${Card} title=${title}>
    <dl class="operator-settings">
      ${rows.map(
        ({ label, value, note, usual }) => html`
          <div key=${label}>
            <dt>${label}</dt>
            <dd>
              <strong>${value}</strong>
              ${usual && html` <span class="operator-default">default</span>`}
              ${note && html`<p class="muted">${note}</p>`}
            </dd>
          </div>
        `,
      )}
    </dl>
  <//>`
}

/** @param {{ operator: API['Operator'] }} props */
function AsRequest({ operator }) {
  const configuration = configurationOf(operator)
  return html`<${Card} title="As a request" class="operator-request">
    <p>
      This creates an operator of the same configuration, or configures this one so again. Its table and its plans are
      not part of it.
    </p>
    <${Code} label="Command that sets this configuration" text=${commandOf(putRequest(operator.name, configuration))} />
    <details>
      <summary>The configuration alone, as JSON</summary>
      <${Code} label="Configuration as JSON" text=${JSON.stringify(configuration, null, 2)} />
    </details>
  <//>`
}
