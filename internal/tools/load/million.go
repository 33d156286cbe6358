package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
)

// million measures one request: a whole interval in, a stored plan out.
type million struct {
	keys, instances, runs int
	formats, encodings    []string
	stores, storeInputs   []string
	fluctuation           float64
}

// The targets.
const (
	mostOfGoccy   = 1.5 // JSON rows, of goccy's time for decoding them
	mostOfRows    = 0.4 // Arrow, of the time of JSON rows
	mostOfColumns = 3   // peak memory, of the decoded columns
)

func (m *million) flags(f *flag.FlagSet) {
	countVar(f, &m.keys, "keys", 1, 1e6, "keys of each interval")
	countVar(f, &m.instances, "instances", 1, 40, "instances of the operator")
	countVar(f, &m.runs, "runs", 1, 7, "intervals posted in each configuration")
	choiceVar(f, &m.formats, "formats", "json_rows,json_columns,ndjson,csv,arrow", formats, "formats")
	choiceVar(f, &m.encodings, "encodings", "identity,gzip,zstd", encodings, "content encodings")
	choiceVar(f, &m.stores, "stores", "sqlite,postgres", stores, "stores")
	choiceVar(f, &m.storeInputs, "store-inputs", "", []string{"true", "false"}, "values of the operator's store_inputs; by default it is not sent")
	f.Float64Var(&m.fluctuation, "fluctuation", 1, "how much the load of some instance changes between intervals, of the mean load")
}

// measured is a trial with its outcome.
type measured struct {
	trial
	*outcome
}

func (m *million) run(ctx context.Context, b *bench) error {
	var all []measured
	for _, t := range m.trials() {
		o, err := b.try(ctx, t)
		if err != nil {
			return err
		}
		all = append(all, measured{t, o})
	}
	b.printf("One interval of %s keys on %d instances, plan stored and answered; medians of %d intervals, the first on an empty table included. ",
		short(m.keys), m.instances, m.runs)
	b.printf("Receiving and decoding overlap; rest is hashing the input, rendering and sending. ")
	b.printf("Peak is VmHWM of the server less that of the idle one. "+
		"Decoded columns are %s: the bytes of the keys, and for each row 8 to find its key, 8 hash, 8 cost, 8 state, 4 instance.\n\n", mb(all[0].columns))
	b.printf("%s\n", breakdown(all))
	b.printf("%s", targets(all))
	return nil
}

// trials are all configurations.
func (m *million) trials() (all []trial) {
	inputs := m.storeInputs
	if len(inputs) == 0 {
		inputs = []string{""}
	}
	for _, store := range m.stores {
		for _, stored := range inputs {
			for _, format := range m.formats {
				for _, encoding := range m.encodings {
					all = append(all, trial{
						store: store, format: format, encoding: encoding, storeInputs: stored,
						keys: m.keys, instances: m.instances, runs: m.runs, fluctuation: m.fluctuation,
						references: format == jsonRows && encoding == identity,
					})
				}
			}
		}
	}
	return all
}

// breakdown is the table of times.
func breakdown(all []measured) *markdown {
	t := &markdown{head: []string{"store", "store_inputs", "format", "encoding", "sent", "time", "least", "receive, decode", "plan", "persist", "rest",
		"decoded MB/s", "ns/key", "peak, first", "peak", "of columns", "≤ " + strconv.Itoa(mostOfColumns)}}
	for _, m := range all {
		median := m.total.median()
		of := ratio(m.growth(), m.columns)
		t.add(m.store, m.inputs(), m.format, m.encoding, mb(m.length), ms(median), ms(m.total.least()),
			ms(m.decode.median()), ms(m.plan.median()), ms(m.persist.median()), ms(m.rest.median()),
			fmt.Sprintf("%.0f", float64(m.plain)/1e6/median.Seconds()), fmt.Sprintf("%.0f", float64(median.Nanoseconds())/float64(m.count)),
			mb(m.first.peak-m.idle.peak), mb(m.growth()), fmt.Sprintf("%.2f", of), yesNo(of <= mostOfColumns))
	}
	return t
}

// targets compares uncompressed JSON rows with the reference, and Arrow with
// them, on each store.
func targets(all []measured) *markdown {
	t := &markdown{head: []string{"store", "store_inputs", "what", "against", "ratio", "target", "met"}}
	of := func(like measured, format string) *measured {
		i := slices.IndexFunc(all, func(m measured) bool {
			return m.store == like.store && m.storeInputs == like.storeInputs && m.format == format && m.encoding == identity
		})
		if i < 0 {
			return nil
		}
		return &all[i]
	}
	for _, rows := range all {
		if rows.format != jsonRows || rows.encoding != identity {
			continue
		}
		compare := func(what, other string, r, most float64) {
			t.add(rows.store, rows.inputs(), what, other, fmt.Sprintf("%.2f", r), fmt.Sprintf("≤ %v", most), yesNo(r <= most))
		}
		compare("JSON rows, "+ms(rows.total.median()), "goccy/go-json, decoding alone, "+ms(rows.goccy.median())+
			" (encoding/json "+ms(rows.encodingJSON.median())+")", ratio(rows.total.median(), rows.goccy.median()), mostOfGoccy)
		if arrow := of(rows, arrowFormat); arrow != nil {
			compare("Arrow, "+ms(arrow.total.median()), "JSON rows", ratio(arrow.total.median(), rows.total.median()), mostOfRows)
		}
	}
	return t
}
