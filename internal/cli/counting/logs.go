package counting

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// event is one of a log. Its texts are valid until the next one.
type event struct {
	key         []byte
	cost, state float64
	time        time.Time
}

// combined reads lines of the access logs of nginx and Apache, in the common or the combined
// format.
type combined struct {
	key, cost, state string // names of parts of a line; empty: 1, or none
	timed            bool
	clock            logClock
}

// parts are those of a line that can be keys or amounts.
var parts = []string{"host", "user", "path", "method", "status", "bytes"}

var errLine = errors.New("is no line of an access log")

// read reads a line.
func (c *combined) read(line []byte, e *event) (err error) {
	if c.key == "host" && c.cost == "" && c.state == "" && !c.timed { // nothing else is needed
		host, rest, ok := bytes.Cut(line, []byte(" "))
		if !ok || !bytes.Contains(rest, []byte(" [")) {
			return errLine
		}
		e.key, e.cost = host, 1
		return nil
	}
	var p logLine
	if !p.read(line) {
		return errLine
	}
	e.key = p.part(c.key)
	if e.cost, err = p.amount(c.cost, 1); err != nil {
		return err
	}
	if e.state, err = p.amount(c.state, 0); err != nil {
		return err
	}
	if c.timed {
		e.time, err = c.clock.read(p.time)
	}
	return err
}

// logLine are the parts of a line: host ident user [time] "method path protocol" status bytes.
type logLine struct{ host, user, time, request, status, bytes []byte }

func (p *logLine) read(line []byte) bool {
	var ok [5]bool
	p.host, line, ok[0] = bytes.Cut(line, []byte(" "))
	_, line, ok[1] = bytes.Cut(line, []byte(" "))
	p.user, line, ok[2] = bytes.Cut(line, []byte(" [")) // names may have spaces
	p.time, line, ok[3] = bytes.Cut(line, []byte(`] "`))
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if line[i] == '"' {
			p.request, line, ok[4] = line[:i], line[i+1:], true
			break
		}
	}
	line = bytes.TrimPrefix(line, []byte(" "))
	p.status, line, _ = bytes.Cut(line, []byte(" "))
	p.bytes, _, _ = bytes.Cut(line, []byte(" "))
	return ok == [5]bool{true, true, true, true, true}
}

// part is the text of a part. The path of a request has no query; a request that is none is its own
// path.
func (p *logLine) part(name string) []byte {
	switch name {
	case "host":
		return p.host
	case "user":
		return p.user
	case "status":
		return p.status
	case "bytes":
		return p.bytes
	}
	method, rest, ok := bytes.Cut(p.request, []byte(" "))
	if name == "method" {
		return method
	}
	if !ok {
		return p.request
	}
	path, _, _ := bytes.Cut(rest, []byte(" "))
	path, _, _ = bytes.Cut(path, []byte("?"))
	return path
}

// amount is the number of a part; what it is without a name is given. No bytes are written as -.
func (p *logLine) amount(name string, without float64) (float64, error) {
	if name == "" {
		return without, nil
	}
	text := p.part(name)
	if string(text) == "-" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || x < 0 {
		return 0, fmt.Errorf("%s: %q is no number ≥ 0", name, text)
	}
	return x, nil
}

// logTime is how access logs write times.
const logTime = "02/Jan/2006:15:04:05 -0700"

// logClock reads times of access logs. Lines that follow one another are mostly of one minute,
// which is read once.
type logClock struct {
	minute, zone [32]byte // of the newest time, as it is written
	start        time.Time
}

// toSeconds is how long the text of a time is before its seconds: 26/Nov/2026:10:00:.
const toSeconds = len("02/Jan/2006:15:04:")

func (c *logClock) read(text []byte) (time.Time, error) {
	const zone = toSeconds + len("05")
	if len(text) == len(logTime) && bytes.Equal(text[:toSeconds], c.minute[:toSeconds]) &&
		bytes.Equal(text[zone:], c.zone[:len(logTime)-zone]) {
		if s := int(text[toSeconds]-'0')*10 + int(text[toSeconds+1]-'0'); s >= 0 && s < 60 {
			return c.start.Add(time.Duration(s) * time.Second), nil
		}
	}
	t, err := time.Parse(logTime, string(text))
	if err != nil {
		return t, fmt.Errorf("%q is not a time of an access log, such as 26/Nov/2026:10:00:01 +0000", text)
	}
	copy(c.minute[:], text[:toSeconds])
	copy(c.zone[:], text[zone:])
	c.start = t.Add(-time.Duration(t.Second()) * time.Second)
	return t, nil
}

// layouts are those of times in columns, beside numbers of seconds and parts of them since 1970.
var layouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", time.DateTime, logTime, time.DateOnly}

// parseTime reads a time. Numbers are seconds, milliseconds, microseconds or nanoseconds since 1970,
// by their size: they lie between 1973 and 5138.
func parseTime(text []byte) (time.Time, error) {
	if x, err := strconv.ParseFloat(string(text), 64); err == nil && x >= 0 {
		const limit = 1e11
		unit := float64(time.Second)
		for x >= limit && unit > 1 {
			x /= 1000
		}
		whole := int64(x)
		return time.Unix(whole, int64((x-float64(whole))*unit)), nil
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, string(text)); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("must be a time: RFC 3339, or s, ms, µs or ns since 1970")
}
