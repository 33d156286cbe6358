package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"plannerd/internal/lab/deep"
)

// grouped is a plan of scheme pkg.
type grouped struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Balanced bool   `json:"balanced"`
	Pkg      struct {
		Set   []headKey `json:"set"`
		Unset []string  `json:"unset"`
	} `json:"pkg"`
	Instances []struct {
		LoadAfter float64 `json:"load_after"`
	} `json:"instances"`
}

type headKey struct {
	Key     string `json:"key"`
	Choices int    `json:"choices"`
}

// headOf reads the head of a version.
func (d *drive) headOf(query string) map[string]int {
	d.t.Helper()
	var table struct {
		Head []headKey `json:"head"`
	}
	d.call("GET", "/v1/operators/"+d.operator+"/routing-table"+query, "", nil, 200, &table)
	out := map[string]int{}
	for _, k := range table.Head {
		out[k.Key] = k.Choices
	}
	return out
}

// TestPkgAcrossRestarts posts streams to operators by partial key grouping. The server is
// started anew between every plan and its commit, and knows every version in the end.
func TestPkgAcrossRestarts(t *testing.T) {
	for k, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			open := opener(t, kind)
			for n, stream := range allStreams(t) {
				if !deep.On() && !whole && (k+n)%2 != 0 { // a usual run tries each on one store
					continue
				}
				t.Run(stream.name, func(t *testing.T) {
					d := &drive{t: t, operator: stream.name + "-pkg", intervals: stream.intervals[:min(4, len(stream.intervals))]}
					d.start(open)
					d.configurePkg(driveInstances)
					versions := []map[string]int{{}}
					for i := range d.intervals {
						d.at = &d.intervals[i]
						if i == 2 {
							d.configurePkg(driveInstances + 3)
						}
						body := d.statistics()
						var p, again grouped
						d.call("POST", "/v1/operators/"+d.operator+"/plans", "application/json", body, 201, &p)
						d.close()
						d.start(open)
						d.call("POST", "/v1/operators/"+d.operator+"/plans", "application/json", body, 200, &again)
						if again.ID != p.ID || fmt.Sprint(again.Pkg) != fmt.Sprint(p.Pkg) {
							t.Fatalf("interval %d: %+v, then %+v", d.at.number, p, again)
						}
						if p.Status != "approved" {
							continue
						}
						d.call("POST", "/v1/plans/"+p.ID+"/commit", "application/json", []byte(`{"stopped":true}`), 200, &again)
						versions = append(versions, p.carriedOut(versions[len(versions)-1]))
					}
					d.close()
					d.start(open)
					for v, want := range versions {
						if got := d.headOf(fmt.Sprintf("?version=%d", v)); !maps.Equal(got, want) {
							t.Errorf("version %d has the head %v, not %v", v, got, want)
						}
					}
				})
			}
		})
	}
}

// carriedOut is the head after a plan.
func (p *grouped) carriedOut(before map[string]int) map[string]int {
	after := maps.Clone(before)
	for _, k := range p.Pkg.Set {
		after[k.Key] = k.Choices
	}
	for _, key := range p.Pkg.Unset {
		delete(after, key)
	}
	return after
}

func (d *drive) configurePkg(instances int) {
	d.t.Helper()
	body := fmt.Sprintf(`{"instances":%d,"scheme":"pkg","theta_max":0.05,"approval":{"auto":"always"}}`, instances)
	d.call("PUT", "/v1/operators/"+d.operator, "application/json", []byte(body), 0, nil)
}

// statistics are those of the interval.
func (d *drive) statistics() []byte {
	d.t.Helper()
	rows := make([]map[string]any, len(d.at.rows))
	for i, r := range d.at.rows {
		rows[i] = map[string]any{"key": r.key, "cost": r.cost, "state": r.state}
	}
	body, err := json.Marshal(map[string]any{"interval": d.at.number, "keys": rows})
	if err != nil {
		d.t.Fatal(err)
	}
	return body
}
