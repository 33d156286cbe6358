// How an operator is configured, and what follows from it: who has reported, and the
// request that would configure another one alike.

import { count } from '../format.js'
import { html } from '../html.js'
import { Card, Code } from '../parts.js'
import { commandOf } from '../shell.js'
import { configurationOf, putRequest } from './configuration/request.js'
import { groupsOf } from './configuration/groups.js'
import { Instances } from './configuration/instances.js'
import { Reports } from './configuration/reports.js'
import { Page } from './operator/page.js'

/** @import { Operator, Setting } from './configuration/groups.js' */

/** @param {{ operator: string }} props */
export default function View({ operator: name }) {
  return html`<${Page}
    name=${name}
    tab="configuration"
    render=${(/** @type {Operator} */ operator) => html`
      ${operator.table_config_version !== operator.config_version && html`<${Pinned} operator=${operator} />`}
      <div class="operator-groups">
        <${Instances} operator=${operator} />
        ${groupsOf(operator).map((group) => html`<${Group} key=${group.title} ...${group} />`)}
      </div>
      <${Reports} operator=${operator} />
      <${AsRequest} operator=${operator} />
    `}
  />`
}

/**
 * The committed table is not of this configuration.
 *
 * @param {{ operator: Operator }} props
 */
function Pinned({ operator: o }) {
  return html`<p class="stale operator-pinned">
    The committed table, version ${count(o.table_version)}, pins configuration version ${count(o.table_config_version)};
    what is shown here is version ${count(o.config_version)}. Routers go by the instances and the hash of the pinned one
    until a plan made under the newer one is committed.
  </p>`
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

/** @param {{ operator: Operator }} props */
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
