package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"plannerd/sdk/go/wire"
)

// ListReportsOptions are the parameters of ListReports.
type ListReportsOptions struct {
	Epoch int64 `query:"epoch"`
}

// PutReportFrom is PutReport of statistics that are sent while they are made. The report
// has neither Keys nor Columns.
func (c *Client) PutReportFrom(
	ctx context.Context, operator string, interval int64, instance wire.InstanceRef, report wire.ReportRequest,
	rows Statistics, options ...Option,
) (*wire.Report, error) {
	r := change(http.MethodPut, rows.beside(report.Residual), "v1", "operators", operator, "intervals",
		strconv.FormatInt(interval, 10), "reports", string(instance))
	r.once = rows.Once
	r.query = statisticsParameters{
		Epoch: report.Epoch, TableVersion: report.TableVersion, TableOrigin: report.TableOrigin,
		ConfigVersion: report.ConfigVersion,
		Coverage:      report.Coverage, Residual: residuals(report.Residual), KeyEncoding: wire.KeyEncodingBase64,
	}
	return call[wire.Report](ctx, c, r, options)
}

// statisticsParameters are what stands beside rows that are a body of their own.
type statisticsParameters struct {
	Interval      *int64                        `query:"interval"`
	Epoch         *wire.Epoch                   `query:"epoch"`
	TableVersion  *wire.Version                 `query:"table_version"`
	TableOrigin   *wire.TableOrigin             `query:"table_origin"`
	ConfigVersion *wire.StatisticsConfigVersion `query:"config_version"`
	Coverage      *wire.Coverage                `query:"coverage"`
	Residual      []string                      `query:"residual"`
	CompactDegree *wire.CompactDegree           `query:"compact_degree"`
	CostScale     *wire.Scale                   `query:"cost_scale"`
	StateScale    *wire.Scale                   `query:"state_scale"`
	Missing       *wire.MissingReports          `query:"missing"`
	KeyEncoding   wire.KeyEncoding              `query:"key_encoding"`
}

// residuals writes the sums of what has no row, instance:cost:state:keys each.
func residuals(all []wire.Residual) []string {
	out := make([]string, len(all))
	for i, r := range all {
		out[i] = strings.Join([]string{string(r.Instance), number(r.Cost), number(r.State),
			strconv.FormatInt(value(r.Keys), 10)}, ":")
	}
	return out
}

func number(x *float64) string { return strconv.FormatFloat(value(x), 'g', -1, 64) }

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
