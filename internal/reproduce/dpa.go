package reproduce

import (
	"fmt"
	"math"
	"slices"

	"plannerd/planner/ring"
)

// dpaEach simulates the workloads of §6.2 with both methods and one round.
func dpaEach(m *measurement, state ring.StateScheme, each func(name string, x *ring.Simulation)) error {
	_, err := ring.Paper(ring.PaperOptions{
		Runs: of(m, 31, 101), State: state, Stop: m.stopped,
		Each: func(workload string, method ring.Method, x *ring.Simulation) {
			each(fmt.Sprintf("%s, %s", workload, method), x)
		},
	})
	return err
}

// dpaTime holds S against the time to finish, within and between workloads.
func dpaTime(m *measurement) error {
	m.setting("Table 1, %d seeds, with a round and without; a message takes 100 ticks", of(m, 31, 101))
	m.axes("S, rounded to tenths", "ticks until all is processed")
	var skews, ticks []float64
	byTenth := map[int][]float64{}
	err := dpaEach(m, ring.FinalMerge, func(_ string, x *ring.Simulation) {
		for _, run := range []*ring.Run{&x.Baseline, &x.Balanced} {
			skews, ticks = append(skews, run.Skew), append(ticks, float64(run.Processed))
			tenth := int(math.Round(10 * run.Skew))
			byTenth[tenth] = append(byTenth[tenth], float64(run.Processed))
		}
	})
	if err != nil {
		return err
	}
	for tenth := range 11 {
		if all := byTenth[tenth]; all != nil {
			m.add("all workloads", float64(tenth)/10, all...)
		}
	}
	r := correlation(skews, ticks)
	m.claim(r > 0.9, "wall time is highly correlated with S (here r = %.3f over %d runs; it grows with S)", r, len(skews))
	return nil
}

// correlation is Pearson's.
func correlation(x, y []float64) float64 {
	mean := func(all []float64) float64 {
		sum := 0.0
		for _, v := range all {
			sum += v
		}
		return sum / float64(len(all))
	}
	mx, my := mean(x), mean(y)
	var xx, yy, xy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
		xy += (x[i] - mx) * (y[i] - my)
	}
	return xy / math.Sqrt(xx*yy)
}

// dpaMerge counts what the final merge takes over from the lesser parts of each key's
// state: a number for a part of a count, its different values for a part of a set, its
// messages for a part of a list.
func dpaMerge(m *measurement) error {
	const values = 10
	m.setting("Table 1 with one round, %d seeds, 100 messages; each message of a key has one of %d values", of(m, 31, 101),
		values)
	m.axes("workload and method", "entries that the merge takes over")
	var names []string
	costs := map[string]*[3][]float64{}
	err := dpaEach(m, ring.FinalMerge, func(name string, x *ring.Simulation) {
		if costs[name] == nil {
			names, costs[name] = append(names, name), new([3][]float64)
		}
		var distinct, list float64
		for _, n := range x.Balanced.Partial {
			distinct += values * (1 - math.Pow(1-1.0/values, float64(n))) // as expected of n draws
			list += float64(n)
		}
		for i, cost := range []float64{float64(len(x.Balanced.Partial)), distinct, list} {
			costs[name][i] = append(costs[name][i], cost)
		}
	})
	if err != nil {
		return err
	}
	order, lists := true, 0.0
	for i, function := range []string{"count", "distinct", "list"} {
		for _, name := range names {
			m.add(function, name, costs[name][i]...)
		}
	}
	const slack = 1e-9 // of the expectations
	for _, name := range names {
		lists = max(lists, slices.Max(costs[name][2]))
		order = order && m.at("count", name) <= m.at("distinct", name)+slack &&
			m.at("distinct", name) <= m.at("list", name)+slack
	}
	m.claim(order, "what is cheap to add up, a count, is cheapest to merge, and a list dearest")
	m.claim(lists >= 10, "the merge step might be expensive (a list takes over up to %.0f of 100 messages)", lists)
	return nil
}

// dpaStates runs the schemes of §7 beside each other.
func dpaStates(m *measurement) error {
	m.setting("Table 1 with one round, %d seeds, 100 messages; a state takes 10 ticks to send", of(m, 31, 101))
	m.axes("workload and method", "times a message is forwarded")
	var names []string
	forwarded := map[string][]float64{}
	var ticks, times [3]float64
	whole := true
	schemes := []ring.StateScheme{ring.FinalMerge, ring.StateForwarding, ring.OldOwner}
	for i, scheme := range schemes {
		err := dpaEach(m, scheme, func(name string, x *ring.Simulation) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			at := string(scheme) + name
			forwarded[at] = append(forwarded[at], float64(x.Balanced.Forwarded))
			ticks[i] += float64(x.Balanced.Ticks)
			whole = whole && (scheme == ring.FinalMerge || x.Balanced.Merges == 0)
		})
		if err != nil {
			return err
		}
		for _, name := range names {
			m.add(string(scheme), name, forwarded[string(scheme)+name]...)
			for _, n := range forwarded[string(scheme)+name] {
				times[i] += n
			}
		}
	}
	m.claim(whole, "where states move, none is in parts at the end")
	m.claim(times[2] > times[0] && times[2] > times[1],
		"mappers that keep to the old owner forward needlessly (%.2f times what a final merge has, stages %.2f times)",
		times[2]/times[0], times[1]/times[0])
	m.claim(ticks[2] < 1.02*ticks[0],
		"states sent asynchronously impose no latency (%.3f of the ticks with a final merge; stages %.3f)",
		ticks[2]/ticks[0], ticks[1]/ticks[0])
	return nil
}
