// Package identity finds out which MAAS a cluster is on, and by whose key it is
// asked, and keeps one connection for each such identity.
//
// A MaasCluster that names a MaasClusterIdentity uses that one, if the identity
// allows the cluster's namespace. All others use the manager's own MAAS, which is
// looked for in this order:
//
//  1. Secret maas-credentials (apiKey) and ConfigMap capmaas-config
//     (maasEndpoint, and caBundle where MAAS's certificate is signed by an
//     authority of one's own), in the manager's namespace
//  2. Secret capmaas-manager-bootstrap-credentials (MAAS_ENDPOINT,
//     MAAS_API_KEY) there
//  3. the environment: MAAS_ENDPOINT and MAAS_API_KEY, or MAAS_API_URL and
//     MAAS_API_TOKEN; MAAS_API_CACERT is PEM text or the path of a file
//
// Secrets are read one by one, by get; none is listed, watched or kept in a
// cache. They are read anew after a while, and at once when MAAS refuses a key.
package identity
