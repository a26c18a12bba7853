package score

// OtherCategory stands for no category. Predictions on a market without a category count under it.
const OtherCategory = "other"
