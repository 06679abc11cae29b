package main

// sdkLogVariable sets the level of what the plugin framework logs.
const sdkLogVariable = "TF_LOG_SDK"

// providerLogVariables are the variables without which Terraform and OpenTofu show nothing
// of a provider's log.
var providerLogVariables = []string{"TF_LOG", "TF_LOG_PROVIDER"}

// isSDKLogUnread tells that nobody can see what the plugin framework logs, and nobody
// has asked for it. It logs some lines for each attribute of each call,
// which took a third of this program's CPU time in a plan of 100 VMs, and
// Terraform reads all of them only to throw them away. With debug, a terminal
// shows them.
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
