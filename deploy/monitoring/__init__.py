"""Recording rules, alerts and dashboards as code: `python -m monitoring` writes what Prometheus and Grafana read."""
