package figures

import (
	"slices"

	"github.com/go-json-experiment/json"

	"plannerd/store"
)

// Agreement is how far over its limits somebody agreed that a plan may go: whoever approves
// it agrees to what it waited for, and to what newer statistics said of it by then.
type Agreement struct {
	Theta     *float64          `json:"theta,omitzero"`     // the greatest; nil: none over the limit
	Migration *MigrationFigures `json:"migration,omitzero"` // the greatest amounts; nil: none over the limit
}

// extend agrees to limits that are broken by that much.
func (a *Agreement) extend(breaks []string, theta float64, m MigrationFigures) {
	if slices.Contains(breaks, string(WaitThetaWorse)) {
		if a.Theta != nil {
			theta = max(theta, *a.Theta)
		}
		a.Theta = &theta
	}
	if slices.Contains(breaks, string(WaitMaxMigration)) {
		if b := a.Migration; b != nil {
			m = MigrationFigures{Keys: max(m.Keys, b.Keys), State: max(m.State, b.State),
				Fraction: max(m.Fraction, b.Fraction), Objective: max(m.Objective, b.Objective)}
		}
		a.Migration = &m
	}
}

// LatestOf is how a plan does under newer statistics; nothing where there are none.
func LatestOf(p store.Plan) (l LatestFigures, err error) {
	if p.Latest == nil {
		return l, nil
	}
	err = json.Unmarshal(p.Latest, &l)
	return l, store.Unreadable("how plan "+p.ID+" does", err)
}

// AgreedTo is what somebody who approved a plan agreed to; nothing as long as it waits.
func AgreedTo(p store.Plan) (Agreement, error) {
	latest, err := LatestOf(p)
	if p.Status != store.StatusProposed {
		latest.Agreed.extend(p.WaitsFor, p.ThetaAfter, MigrationFigures{
			Keys: p.MigrationKeys, State: p.MigrationState, Fraction: p.MigrationFraction, Objective: p.Objective,
		})
	}
	return latest.Agreed, err
}

// AgreeToLatest is what newer statistics say of a plan once somebody agrees to that.
func AgreeToLatest(p store.Plan) ([]byte, error) {
	latest, err := LatestOf(p)
	if err != nil || len(latest.Breaks) == 0 {
		return p.Latest, err
	}
	latest.Agreed.extend(latest.Breaks, latest.Figures.Theta.After, latest.Figures.Migration)
	latest.Breaks = []string{}
	return json.Marshal(latest)
}

// WaitReason is why a plan waits for a person's approval.
type WaitReason string

// The reasons. Those of limits stand for a limit that the plan breaks.
const (
	WaitApproval     WaitReason = "approval_required" // every plan of its operator waits
	WaitTableLimit   WaitReason = "table_limit"       // the table is over its limit, and no smaller than before
	WaitThetaWorse   WaitReason = "theta_worse"       // θ gets worse, and is above θ_max
	WaitMaxMigration WaitReason = "max_migration"     // it moves more than needs no approval
	WaitSmall        WaitReason = "statistics_too_small"
)

// ReasonsText are waiting reasons as the store keeps them.
func ReasonsText(all []WaitReason) []string {
	out := make([]string, len(all))
	for i, r := range all {
		out[i] = string(r)
	}
	return out
}
