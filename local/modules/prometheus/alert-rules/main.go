// Alert-rules says which alerts of a rules file fire on given series, by Prometheus' own parser, query engine and templates.
// `promtool test rules` compares with what it is told to expect; this says what there is, for series that real processes gave.
//
// Usage: alert-rules <rules file> < series.json > firing.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/annotations"
)

const version = "0.316.0"

// A series that goes on in a straight line, one sample a minute.
type series struct {
	// With __name__.
	Labels map[string]string `json:"labels"`
	Start  float64           `json:"start"`
	// Added each minute.
	Step float64 `json:"step"`
}

type input struct {
	// Time of the first sample, in milliseconds since 1970.
	StartMs int64    `json:"startMs"`
	Minutes int      `json:"minutes"`
	Series  []series `json:"series"`
}

type firing struct {
	Alert       string            `json:"alert"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func main() {
	if len(os.Args) != 2 {
		fail(errors.New("usage: alert-rules <rules file>"))
	}
	if os.Args[1] == "--version" {
		fmt.Println("alert-rules, of prometheus v" + version)
		return
	}
	groups, errs := rulefmt.ParseFile(os.Args[1], false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	fail(errors.Join(errs...))
	var given input
	fail(json.NewDecoder(os.Stdin).Decode(&given))
	found := []firing{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			alerts, err := evaluate(rule, given)
			fail(err)
			found = append(found, alerts...)
		}
	}
	fail(json.NewEncoder(os.Stdout).Encode(found))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// As the rule manager does: an alert fires once its expression has held at each minute of its "for".
func evaluate(rule rulefmt.Rule, given input) ([]firing, error) {
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000,
		Timeout:    time.Minute,
		Parser:     parser.NewParser(parser.Options{}),
	})
	ctx := context.Background()
	start := timestamp.Time(given.StartMs)
	since := map[string]time.Time{}
	var last promql.Vector
	query := func(ctx context.Context, text string, at time.Time) (promql.Vector, error) {
		made, err := engine.NewInstantQuery(ctx, queryable(given), nil, text, at)
		if err != nil {
			return nil, err
		}
		defer made.Close()
		result := made.Exec(ctx)
		if result.Err != nil {
			return nil, fmt.Errorf("%s: %w", rule.Alert, result.Err)
		}
		vector, err := result.Vector()
		return append(promql.Vector(nil), vector...), err
	}
	end := start
	for minute := 0; minute <= given.Minutes; minute++ {
		end = start.Add(time.Duration(minute) * time.Minute)
		vector, err := query(ctx, rule.Expr, end)
		if err != nil {
			return nil, err
		}
		last = vector
		held := map[string]time.Time{}
		for _, sample := range vector {
			key := sample.Metric.String()
			if at, ok := since[key]; ok {
				held[key] = at
			} else {
				held[key] = end
			}
		}
		since = held
	}
	found := []firing{}
	for _, sample := range last {
		if end.Sub(since[sample.Metric.String()]) < time.Duration(rule.For) {
			continue
		}
		own := sample.Metric.Map()
		delete(own, "__name__")
		alert := firing{Alert: rule.Alert, Labels: own, Annotations: map[string]string{}}
		data := template.AlertTemplateData(own, nil, "", sample)
		for name, text := range rule.Annotations {
			whole := "{{$labels := .Labels}}{{$value := .Value}}" + text
			expander := template.NewTemplateExpander(ctx, whole, rule.Alert, data, model.TimeFromUnixNano(end.UnixNano()), template.QueryFunc(query), nil, nil)
			expanded, err := expander.Expand()
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", rule.Alert, name, err)
			}
			alert.Annotations[name] = strings.TrimSpace(expanded)
		}
		found = append(found, alert)
	}
	return found, nil
}

// The given series as a database.
type queryable input

func (q queryable) Querier(_, _ int64) (storage.Querier, error) { return q, nil }

func (q queryable) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{at: -1}
	for _, one := range q.Series {
		metric := labels.FromMap(one.Labels)
		matches := true
		for _, matcher := range matchers {
			matches = matches && matcher.Matches(metric.Get(matcher.Name))
		}
		if !matches {
			continue
		}
		points := make([]promql.FPoint, q.Minutes+1)
		for minute := range points {
			points[minute] = promql.FPoint{
				T: q.StartMs + int64(minute)*60_000,
				F: one.Start + float64(minute)*one.Step,
			}
		}
		set.series = append(set.series, promql.NewStorageSeries(promql.Series{Metric: metric, Floats: points}))
	}
	return set
}

func (q queryable) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q queryable) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q queryable) Close() error { return nil }

type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool {
	s.at++
	return s.at < len(s.series)
}
func (s *seriesSet) At() storage.Series                { return s.series[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }
