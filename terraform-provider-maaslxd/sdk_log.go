package main

// sdkLogVariable sets the log level of the plugin framework.
const sdkLogVariable = "TF_LOG_SDK"

// providerLogVariables are the variables that make Terraform and OpenTofu show a provider's
// log.
var providerLogVariables = []string{"TF_LOG", "TF_LOG_PROVIDER"}

// isSDKLogUnread tells whether nobody reads the plugin framework's log: it is neither shown
// nor asked for. The framework logs some lines for each attribute of each call. That took a
// third of this program's CPU time in a plan of 100 VMs, and Terraform throws the lines away.
// With debug, a terminal shows them.
func isSDKLogUnread(debug bool, env func(string) (string, bool)) bool {
	if _, asked := env(sdkLogVariable); asked || debug {
		return false
	}
	for _, name := range providerLogVariables {
		if level, _ := env(name); level != "" {
			return false
		}
	}
	return true
}
