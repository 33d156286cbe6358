package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"plannerd/compact"
	"plannerd/internal/input"
	"plannerd/internal/lab/measure"
	"plannerd/internal/lab/quality/cases"
	"plannerd/planner"
)

// form is the statistics of an interval in one form, as an engine posts them.
type form struct {
	records      int
	bytes, small int           // small: compressed by gzip
	decode       time.Duration // by the service
	compress     time.Duration // by whoever makes the records
	plan         time.Duration // of the posted records, fast certificate included
	whole        time.Duration // of full statistics: compression, plan, the way back to keys, certificate
	theta        float64       // after the plan that full statistics came to
	table        int64
	moved        float64 // fraction of the state
	before       float64 // greatest error of an instance
	after        float64
}

func (c *config) zipf(w io.Writer, keys int) error {
	setting := cases.Setting{
		Keys: keys, Window: 5, Fluctuation: 1, Seed: 1,
		Instances: c.instances, ThetaMax: c.theta, TableLimit: c.table,
	}
	rows := make([][]form, 1+len(degrees))
	for kase, err := range cases.Drive(setting, "", planner.Mixed, c.intervals) {
		if err != nil {
			return err
		}
		f, err := c.keysForm(kase)
		if err != nil {
			return err
		}
		rows[0] = append(rows[0], f)
		for i, degree := range degrees {
			if f, err = c.compactForm(kase, degree); err != nil {
				return err
			}
			rows[1+i] = append(rows[1+i], f)
		}
	}
	fmt.Fprintf(w, "\n## %d keys, %d instances, θ_max %v, A_max %d, %s, %d intervals\n\n", keys, c.instances, c.theta,
		c.table, c.strategy, len(rows[0]))
	fmt.Fprint(w, "| R | records | JSON | gzip | decoding | compression | plan on records | plan on full statistics | θ "+
		"after | table | state moved | error before | error after |\n"+
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i, forms := range rows {
		name := "keys"
		if i > 0 {
			name = strconv.Itoa(degrees[i-1])
		}
		f := summary(forms)
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s |", name, f.records, size(f.bytes), size(f.small),
			measure.Milliseconds(f.decode))
		if i > 0 {
			fmt.Fprintf(w, " %s | %s |", measure.Milliseconds(f.compress), measure.Milliseconds(f.plan))
		} else {
			fmt.Fprint(w, " – | – |")
		}
		fmt.Fprintf(w, " %s | %.4f | %d | %.3f %% |", measure.Milliseconds(f.whole), f.theta, f.table, 100*f.moved)
		if i > 0 {
			fmt.Fprintf(w, " %.2g %% | %.2g %% |\n", 100*f.before, 100*f.after)
		} else {
			fmt.Fprint(w, " – | – |\n")
		}
	}
	return nil
}

// keysForm measures whole keys.
func (c *config) keysForm(kase *cases.Case) (f form, err error) {
	s := kase.Snapshot
	body := rowsBody(s)
	f.records, f.bytes, f.small = s.Len(), len(body), gzipped(body)
	if f.decode, err = c.timed(func() error {
		_, err := input.DecodeJSON(bytes.NewReader(body), input.Options{})
		return err
	}); err != nil {
		return f, err
	}
	var p *planner.Plan
	f.whole, err = c.timed(func() (err error) {
		p, err = planner.Run(c.strategy, s, kase.Options)
		return err
	})
	if err == nil {
		f.theta, f.table, f.moved = p.Theta.After, p.TableAfter, p.Migration.Fraction
	}
	return f, err
}

// compactForm measures records of a degree.
func (c *config) compactForm(kase *cases.Case, degree int) (f form, err error) {
	s, options := kase.Snapshot, compact.Options{Degree: degree}
	var com *compact.Compression
	if f.compress, err = c.timed(func() (err error) {
		com, err = compact.Compress(s, options)
		return err
	}); err != nil {
		return f, err
	}
	stats := &compact.Statistics{Records: com.Records, Scales: com.Scales, Degree: degree}
	var body bytes.Buffer
	if err := input.WriteCompactJSON(&body, 1, stats, false); err != nil {
		return f, err
	}
	f.records, f.bytes, f.small = len(com.Records), body.Len(), gzipped(body.Bytes())
	if f.decode, err = c.timed(func() error {
		_, err := input.DecodeJSON(bytes.NewReader(body.Bytes()), input.Options{})
		return err
	}); err != nil {
		return f, err
	}
	target := planner.Configuration{Instances: s.Instances}
	if f.plan, err = c.timed(func() error {
		classes, err := compact.NewClasses(stats, target, planner.Base{Configuration: target})
		if err != nil {
			return err
		}
		_, err = planner.Run(c.strategy, classes.Items, kase.Options)
		return err
	}); err != nil {
		return f, err
	}
	var p *compact.KeyPlan
	f.whole, err = c.timed(func() error {
		com, err := compact.Compress(s, options)
		if err == nil {
			p, err = com.Plan(c.strategy, kase.Options)
		}
		return err
	})
	if err == nil {
		f.theta, f.table, f.moved = p.Theta.After, p.TableAfter, p.Migration.Fraction
		f.before, f.after = p.GreatestError().Before, p.GreatestError().After
	}
	return f, err
}

// timed returns the median time of some repetitions.
func (c *config) timed(work func() error) (time.Duration, error) {
	times := make([]time.Duration, max(1, c.repetitions))
	for i := range times {
		begin := time.Now()
		if err := work(); err != nil {
			return 0, err
		}
		times[i] = time.Since(begin)
	}
	return measure.Quantile(times, 0.5), nil
}

// summary is the medians over intervals, and the greatest errors.
func summary(forms []form) form {
	return form{
		records:  medianOf(forms, func(f form) int { return f.records }),
		bytes:    medianOf(forms, func(f form) int { return f.bytes }),
		small:    medianOf(forms, func(f form) int { return f.small }),
		decode:   medianOf(forms, func(f form) time.Duration { return f.decode }),
		compress: medianOf(forms, func(f form) time.Duration { return f.compress }),
		plan:     medianOf(forms, func(f form) time.Duration { return f.plan }),
		whole:    medianOf(forms, func(f form) time.Duration { return f.whole }),
		theta:    medianOf(forms, func(f form) float64 { return f.theta }),
		table:    medianOf(forms, func(f form) int64 { return f.table }),
		moved:    medianOf(forms, func(f form) float64 { return f.moved }),
		before:   slices.MaxFunc(forms, func(a, b form) int { return cmp.Compare(a.before, b.before) }).before,
		after:    slices.MaxFunc(forms, func(a, b form) int { return cmp.Compare(a.after, b.after) }).after,
	}
}

// rowsBody is the statistics as a request in JSON rows.
func rowsBody(s *planner.Snapshot) []byte {
	b := append(make([]byte, 0, 80*s.Len()), `{"interval":1,"keys":[`...)
	for i := range s.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"key":`...)
		b = strconv.AppendQuote(b, string(s.Keys.At(i)))
		b = append(b, `,"cost":`...)
		b = strconv.AppendFloat(b, s.Cost[i], 'f', -1, 64)
		b = append(b, `,"state":`...)
		b = strconv.AppendFloat(b, s.State[i], 'f', -1, 64)
		b = append(b, `,"instance":`...)
		b = strconv.AppendInt(b, int64(s.Instances[s.Current[i]].ID), 10)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

func gzipped(text []byte) int {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(text); err != nil {
		panic(err) // a buffer takes everything
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return out.Len()
}
