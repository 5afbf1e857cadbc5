// The quick start with openapi-generator's Go client.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	tidemill "github.com/example/tidemill"
)

func must[T any](value T, _ any, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	configuration := tidemill.NewConfiguration()
	base := strings.TrimSuffix(os.Getenv("TIDEMILL_API_URL"), "/v1")
	configuration.Servers = tidemill.ServerConfigurations{{URL: base}}
	client := tidemill.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), tidemill.ContextAccessToken, os.Getenv("TIDEMILL_API_TOKEN"))

	newSource := tidemill.NewSourceCreate("Webhook")
	newSource.SetName("go-shop")
	source := must(client.SourcesAPI.CreateSource(ctx).SourceCreate(*newSource).Execute())
	if source.GetWebhookURL() == "" {
		panic("no URL")
	}
	event := map[string]interface{}{"type": "order.paid", "order": 1}
	for !must(client.SourcesAPI.SendTestEvent(ctx, source.GetName()).RequestBody(event).Execute()).GetAccepted() {
		time.Sleep(200 * time.Millisecond)
	}
	newDestination := tidemill.NewDestinationCreate("DuckDB")
	newDestination.SetName("go-lake")
	newDestination.SetDuckDB(*tidemill.NewDestinationCreateDuckDB("go.duckdb"))
	destination := must(client.DestinationsAPI.CreateDestination(ctx).DestinationCreate(*newDestination).Execute())
	newPipeline := tidemill.NewPipelineCreate(
		*tidemill.NewPipelineCreateSourceRef(source.GetName()),
		*tidemill.NewPipelineCreateDestinationRef(destination.GetName()),
	)
	newPipeline.SetName("go-orders")
	pipeline := must(client.PipelinesAPI.CreatePipeline(ctx).PipelineCreate(*newPipeline).Execute())
	start := client.RunsAPI.StartRun(ctx, pipeline.GetName()).Queue(true).RunStart(*tidemill.NewRunStart())
	run := must(start.Execute())
	for run.GetStatus() == "Pending" || run.GetStatus() == "Running" {
		run = must(client.RunsAPI.GetRun(ctx, run.GetName()).Wait("30s").Execute())
	}
	_, _, err := client.SourcesAPI.GetSource(ctx, "missing").Execute()
	var failure *tidemill.GenericOpenAPIError
	errors.As(err, &failure)
	problem := failure.Model().(tidemill.Problem)
	fmt.Println(run.GetStatus(), run.GetRows(), problem.GetCode())
}
