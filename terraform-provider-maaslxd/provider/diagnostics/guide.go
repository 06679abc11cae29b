package diagnostics

// guides is where the guides are for somebody who has only the provider.
const guides = "https://github.com/maaslxd/maaslxd/blob/main/docs/guides/"

// GuideURL is the address of a section of a guide, such as "day-two" and "change-the-size".
func GuideURL(guide, section string) string { return guides + guide + ".md#" + section }
