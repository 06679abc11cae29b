// Package e2e makes whole clusters on a simulated MAAS, as their users would.
// clusterctl installs what a release ships. The bridge's manager runs with the
// shipped arguments and rights, beside Cluster API's unmodified managers. All
// clusters come from the shipped templates.
package e2e
