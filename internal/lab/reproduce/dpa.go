package reproduce

import (
	"fmt"
	"math"
	"slices"

	"plannerd/planner/ring"
)

var dpaItems = []Item{
	{"dpa/table1", DPA, "Table 1", "Skew without balancing and with one round of it", dpaTable1},
	{"dpa/fig3", DPA, "Fig. 3", "Skew over the rounds that each reducer may begin", dpaFig3},
	{"dpa/time", DPA, "§6.1", "Time to finish over the skew of what reducers processed", dpaTime},
	{"dpa/merge", DPA, "§1, §7", "What the final merge takes over, by kind of function", dpaMerge},
	{"dpa/states", DPA, "§7", "What forwarding and moving states cost, by scheme", dpaStates},
}

// dpaRows simulates the workloads of §6.2 with both methods.
func dpaRows(m *measurement, report int64, rounds ...int) []ring.PaperRow {
	return must(ring.Paper(ring.PaperOptions{MaxRounds: rounds, Runs: dpaRuns, Report: report,
		Stop: m.stopped}))
}

// dpaSetting says what is assumed.
func (m *measurement) dpaSetting() {
	m.setting("four mappers and reducers, τ 0.2, N 16, %d seeds, nodes and tokens counted from 0; a message takes 100 "+
		"ticks, reducers report every 100", dpaRuns)
}

// dpaRuns is how many seeds Table 1 and Fig. 3 are the median of.
const dpaRuns = 101

// seldom is ten times as long as a report takes otherwise.
const seldom = 1000

func dpaTable1(m *measurement) {
	m.dpaSetting()
	m.axes("workload and method", "S")
	for _, report := range []int64{0, seldom} {
		rows := dpaRows(m, report, 1)
		for _, r := range rows {
			x := fmt.Sprintf("%s, %s", r.Workload, r.Method)
			if report == 0 {
				m.add("no balancing", x, r.Baseline)
				m.add("one round", x, r.Least, r.Median, r.Most)
			} else {
				m.vary("one round, reports every 1000 ticks", x, r.Least, r.Median, r.Most)
			}
		}
	}
}

func dpaFig3(m *measurement) {
	rounds := of(m, []int{1, 2, 3}, []int{1, 2, 3, 4, 5})
	m.dpaSetting()
	m.axes("rounds", "S")
	rows := dpaRows(m, 0, rounds...)
	for _, r := range rows {
		m.add(fmt.Sprintf("%s, %s", r.Workload, r.Method), r.MaxRounds, r.Least, r.Median, r.Most)
	}
	for _, r := range dpaRows(m, seldom, rounds...) {
		m.vary(fmt.Sprintf("%s, %s, reports every 1000 ticks", r.Workload, r.Method), r.MaxRounds, r.Least, r.Median, r.Most)
	}
	helped, hurt := 0, 0.0
	for _, workload := range []string{"WL1", "WL2", "WL3", "WL4", "WL5"} {
		helps := false
		for _, method := range []ring.Method{ring.Halving, ring.Doubling} {
			name := workload + ", " + string(method)
			for _, n := range rounds[1:] {
				helps = helps || m.at(name, n) < m.at(name, 1)
				if method == ring.Halving {
					hurt = max(hurt, m.at(name, n)-m.at(name, 1))
				}
			}
		}
		if helps {
			helped++
		}
	}
	m.claim(helped == 5, "more rounds help one of the methods at least, in all workloads (here in %d of 5)", helped)
	m.claim(hurt == 0, "more rounds never hurt halving (here by %.2f at most)", hurt)
}

// dpaEach simulates the workloads of §6.2 with both methods and one round.
func dpaEach(m *measurement, state ring.StateScheme, each func(name string, x *ring.Simulation)) {
	must(ring.Paper(ring.PaperOptions{
		Runs: of(m, 31, 101), State: state, Stop: m.stopped,
		Each: func(workload string, method ring.Method, x *ring.Simulation) {
			each(fmt.Sprintf("%s, %s", workload, method), x)
		},
	}))
}

// dpaTime holds S against the time to finish, within and between workloads.
func dpaTime(m *measurement) {
	m.setting("Table 1, %d seeds, with a round and without; a message takes 100 ticks", of(m, 31, 101))
	m.axes("S, rounded to tenths", "ticks until all is processed")
	var skews, ticks []float64
	byTenth := map[int][]float64{}
	dpaEach(m, ring.FinalMerge, func(_ string, x *ring.Simulation) {
		for _, run := range []*ring.Run{&x.Baseline, &x.Balanced} {
			skews, ticks = append(skews, run.Skew), append(ticks, float64(run.Processed))
			tenth := int(math.Round(10 * run.Skew))
			byTenth[tenth] = append(byTenth[tenth], float64(run.Processed))
		}
	})
	for tenth := range 11 {
		if all := byTenth[tenth]; all != nil {
			m.add("all workloads", float64(tenth)/10, all...)
		}
	}
	r := correlation(skews, ticks)
	m.claim(r > 0.9, "wall time is highly correlated with S (here r = %.3f over %d runs; it grows with S)", r, len(skews))
}

// correlation is Pearson's.
func correlation(x, y []float64) float64 {
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
func dpaMerge(m *measurement) {
	const values = 10
	m.setting("Table 1 with one round, %d seeds, 100 messages; each message of a key has one of %d values", of(m, 31, 101),
		values)
	m.axes("workload and method", "entries that the merge takes over")
	var names []string
	costs := map[string]*[3][]float64{}
	dpaEach(m, ring.FinalMerge, func(name string, x *ring.Simulation) {
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
}

// dpaStates runs the schemes of §7 beside each other.
func dpaStates(m *measurement) {
	m.setting("Table 1 with one round, %d seeds, 100 messages; a state takes 10 ticks to send", of(m, 31, 101))
	m.axes("workload and method", "times a message is forwarded")
	var names []string
	forwarded := map[string][]float64{}
	var ticks, times [3]float64
	whole := true
	schemes := []ring.StateScheme{ring.FinalMerge, ring.StateForwarding, ring.OldOwner}
	for i, scheme := range schemes {
		dpaEach(m, scheme, func(name string, x *ring.Simulation) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			at := string(scheme) + name
			forwarded[at] = append(forwarded[at], float64(x.Balanced.Forwarded))
			ticks[i] += float64(x.Balanced.Ticks)
			whole = whole && (scheme == ring.FinalMerge || len(x.Balanced.Partial) == 0)
		})
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
}
