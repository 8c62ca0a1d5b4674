package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"biztraak.dev/vm/internal/transport"
	"biztraak.dev/vm/internal/transport/graphqlws"
)

// metricsPart serves /metrics and /healthz on a listener of its own, which is
// for the operator and not for the world.
func (p *Process) metricsPart(sockets *graphqlws.Registry) part {
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("websocket_connections", "Open WebSockets.", func() float64 { return float64(sockets.Stats().Connections) }),
		gauge("websocket_operations", "Running operations on WebSockets.", func() float64 { return float64(sockets.Stats().Operations) }),
		&queueAge{process: p, desc: prometheus.NewDesc("biztraak_vm_oldest_due_seconds",
			"How long the oldest operation has been due without being taken up; 0 for none.", nil, nil)},
	)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	srv := transport.NewServer(mux, p.opt.Log)
	return part{
		name: "metrics",
		start: func(ctx context.Context) error {
			addr := p.opt.Config.MetricsListen
			ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
			if err != nil {
				return fmt.Errorf("listen on %s: %w (set METRICS_LISTEN to another address, or to nothing)", addr, err)
			}
			p.opt.Log.InfoContext(ctx, "metrics", "url", "http://"+ln.Addr().String()+"/metrics")
			go func() {
				if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
					p.failed <- fmt.Errorf("serve metrics: %w", err)
				}
			}()
			return nil
		},
		stop: srv.Shutdown,
	}
}

func gauge(name, help string, read func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "biztraak_vm", Name: name, Help: help}, read)
}

// queueAge asks the database at each scrape: what is due is the same for all
// processes, and a gauge that one of them keeps would go stale with it.
type queueAge struct {
	process *Process
	desc    *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (q *queueAge) Describe(ch chan<- *prometheus.Desc) { ch <- q.desc }

// Collect implements prometheus.Collector.
func (q *queueAge) Collect(ch chan<- prometheus.Metric) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	age, err := q.process.sys.writer.OldestDue(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(q.desc, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(q.desc, prometheus.GaugeValue, age.Seconds())
}
