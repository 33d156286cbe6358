package api

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/input"
	"plannerd/internal/web/httpkit"
)

// readingRows are the query parameters that say how another system wrote the rows of a body.
var readingRows = []string{
	"columns", "decimal", "delimiter", "duplicates", "header", "key_separator", "records", "skip",
}

// rowsAlone tells whether the body has rows alone, so that the query says all else.
func (c *call) rowsAlone(media string) bool {
	return media != mediaJSON || c.Query.Has("columns") || c.Query.Has("records")
}

// readAs has the decoders read rows as the query says.
func (c *call) readAs(media string, o *input.Options) (err error) {
	p := httpkit.Invalid()
	for _, name := range readingRows {
		switch ofCSV := slices.Contains([]string{"decimal", "delimiter", "header", "skip"}, name); {
		case !c.Query.Has(name):
		case media == mediaText:
			p.AtParameter(name, "is not for text/plain, which has a key a line")
		case ofCSV && media != mediaCSV:
			p.AtParameter(name, "is for text/csv")
		case name == "records" && media != mediaJSON && media != mediaNDJSON:
			p.AtParameter(name, "is for application/json")
		}
	}
	said := c.Query.Get
	if pairs := said("columns"); pairs != "" {
		if o.Columns, err = input.ParseMapping(strings.Split(pairs, ",")); err != nil {
			p.AtParameter("columns", err.Error())
		}
	}
	o.KeySeparator, o.Records, o.SumTwins = said("key_separator"), said("records"), said("duplicates") == "sum"
	o.Delimiter, o.DecimalComma = input.Delimiters[said("delimiter")], said("decimal") == "comma"
	o.Skip, _ = strconv.Atoi(said("skip")) // within the contract
	if c.Query.Has("header") {
		o.Header = []string{}
	}
	return p.OrNil()
}

// rowsProblem is what to answer when a body of rows cannot be read, with the request that would.
func (c *call) rowsProblem(media string, err error) error {
	var body *input.Error
	if err = readProblem(c.Context(), err); !errors.As(err, &body) {
		return err
	}
	p, names := bodyProblem(body), []string(nil)
	list := media == mediaJSON && strings.HasPrefix(strings.TrimSpace(string(c.head)), "[")
	for _, one := range body.Problems {
		switch {
		case one.Detail == input.UnknownColumn:
			names = append(names, one.Column)
		case one.Twin > 0 && !strings.Contains(p.Detail, "duplicates=sum"):
			p.Detail += " duplicates=sum adds up the rows of a key."
		case strings.Contains(one.Detail, "a comma is no decimal point") && !strings.Contains(p.Detail, "decimal=comma"):
			p.Detail += " decimal=comma reads 1,5."
		}
		list = list || (one.Column == "key" || one.Column == "cost") && strings.Contains(one.Detail, "is required")
	}
	if list {
		p.Detail += c.otherNames(media, names)
	}
	return p
}

// otherNames is the request that may read this body, if its rows call fields by the names that are
// given, or by those in its JSON.
func (c *call) otherNames(media string, names []string) string {
	query := url.Values{}
	maps.Copy(query, c.Query)
	if media == mediaJSON || media == mediaNDJSON {
		var records string
		if records, names = input.LookForRecords(c.head); records != "" {
			query.Set("records", records)
		}
	}
	pairs := input.Suggest(names, "state")
	if pairs == "" || c.rowsAlone(mediaJSON) {
		return ""
	}
	query.Set("columns", pairs)
	plain := strings.NewReplacer("%3D", "=", "%2C", ",", "%3A", ":").Replace(query.Encode())
	return " If the body has other names for its fields, say which, such as: " + c.Method + " " +
		c.URL.EscapedPath() + "?" + plain
}
