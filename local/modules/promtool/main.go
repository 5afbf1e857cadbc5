// Promtool checks rules as `promtool check rules` does: with Prometheus' own parser. The whole promtool needs modules that aren't
// published for every proxy, and minutes to build.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	failed := false
	rules := 0
	for _, file := range os.Args[1:] {
		if file == "--version" {
			fmt.Println("promtool, of prometheus v0.316.0")
			return
		}
		groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		for _, err := range errs {
			fmt.Fprintln(os.Stderr, err)
			failed = true
		}
		if groups == nil {
			continue
		}
		for _, group := range groups.Groups {
			rules += len(group.Rules)
		}
	}
	if failed {
		os.Exit(1)
	}
	fmt.Printf("SUCCESS: %d rules found\n", rules)
}
