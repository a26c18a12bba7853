package market

import (
	"regexp"
	"slices"
	"strings"
)

// Categories are the categories of markets, in the order in which they are listed. A market that fits none has
// no category.
var Categories = []string{
	"politics", "world", "economics", "finance", "crypto", "technology", "science", "climate", "health", "sports", "culture",
}

// subjects maps tag slugs to categories. The first row that contains one of a market's slugs decides, so narrow
// subjects stand above broad ones. For example, a soccer match in bad weather is sports, and a decision of the
// central bank is economics, whoever is president. Slugs are in lower case with hyphens, as TagSlug writes
// them.
var subjects = []struct {
	category string
	slugs    string // separated by spaces
}{
	// Narrow subjects: the slug alone says what the question is about.
	{"culture", "oscars academy-awards grammys emmys golden-globes eurovision music spotify billboard taylor-swift rihanna " +
		"playboi-carti movies box-office rotten-tomatoes netflix reality-tv survivor gta-vi gta-6 mrbeast " +
		"super-bowl-halftime-show halftime-show bad-bunny kanye drake beyonce time-person-of-the-year miss-universe " +
		"royal-family pope jesus tweets-markets tweet-markets albums new-album james-bond"},
	{"sports", "soccer football nfl nba nhl mlb wnba cfb cbb ncaa ncaab ncaaf college-football basketball baseball hockey " +
		"tennis golf pga pga-tour ufc mma boxing cricket ipl rugby f1 formula-1 formula1 motorsport nascar chess poker darts " +
		"cycling tour-de-france olympics winter-olympics paralympics esports league-of-legends counter-strike counter-strike-2 " +
		"cs2 csgo dota dota-2 valorant rocket-league epl premier-league la-liga la-liga-2 serie-a bundesliga ligue-1 mls " +
		"champions-league ucl uefa uel europa-league fifa fifa-world-cup world-cup 2026-fifa-world-cup super-bowl nfl-draft " +
		"march-madness stanley-cup world-series wimbledon us-open french-open australian-open ryder-cup masters wwe atp wta " +
		"nba-finals nba-champion nfl-playoffs nba-playoffs copa-america euro-2028 afcon saudi-pro-league eredivisie efl " +
		"international-friendlies heisman afc nfc tournament-futures table-tennis volleyball handball snooker horse-racing " +
		"kentucky-derby surfing skiing swimming athletics pickleball"},
	{"health", "covid-19 covid coronavirus pandemic pandemics measles bird-flu h5n1 flu influenza ebola mpox monkeypox " +
		"vaccines vaccine cancer fda cdc medicine drugs glp-1 ozempic hantavirus virus public-health disease obesity"},
	{"climate", "hurricane hurricanes hurricane-season tropical-storm daily-temperature temperature highest-temperature " +
		"lowest-temperature global-temperature global-temp hottest-year snow snowfall rain rainfall precipitation tornado " +
		"tornadoes wildfire wildfires flood floods drought heatwave climate-change global-warming arctic-sea-ice el-nino " +
		"emissions carbon"},
	{"culture", "video-games gaming celebrities celebrity entertainment awards art tv streaming podcasts youtube tiktok religion"},
	{"economics", "fed fomc fed-rates fed-chair fed-chair-pick federal-reserve jerome-powell powell interest-rates rate-cuts " +
		"inflation cpi pce gdp unemployment jobs jobs-report nonfarm-payrolls payrolls recession tariffs trade-war " +
		"economic-policy macro-indicators macro treasury-yields treasuries bonds debt-ceiling national-debt housing " +
		"housing-market mortgage mortgage-rates gas-prices egg-prices ecb bank-of-england bank-of-japan bank-of-canada " +
		"central-banks global-rates taxes consumer-prices retail-sales"},
	{"finance", "stocks ipos ipo earnings earnings-calls sp-500 sp500 spx s-p-500 nasdaq nasdaq-100 dow-jones indices " +
		"indicies equities commodities gold silver copper oil crude-oil wti brent natural-gas nymex-crude-oil-futures " +
		"forex currencies foreign-exchange acquisitions mergers bankruptcy nvidia tesla apple-stock microstrategy mstr " +
		"largest-company market-cap banks banking hedge-funds sec-filings tsla nvda aapl msft googl amzn meta-stock spy qqq " +
		"big-banks etfs private-companies valuation fundraising"},
	{"crypto", "bitcoin btc ethereum eth solana sol xrp ripple dogecoin bnb cardano litecoin chainlink hyperliquid hype " +
		"crypto-prices memecoins memecoin altcoins airdrops airdrop token-launch token-launches token-sales public-sales fdv " +
		"tge nft nfts defi stablecoins stablecoin usdt usdc tether coinbase binance kraken opensea metamask " +
		"bitcoin-etf crypto-policy satoshi megaeth monad edgex lighter pump-fun zcash monero avalanche polkadot base layer-2 " +
		"exchange crypto-exchange blockchain uniswap aave etf-approval crypto-etf"},
	{"science", "space nasa spacex space-x starship rockets rocket moon mars asteroid astronomy aliens ufo uap physics " +
		"earthquake earthquakes volcano volcanoes biology chemistry mathematics nobel-prize-in-physics fusion " +
		"quantum-computing archaeology de-extinction meteor eclipse artemis blue-origin"},
	{"technology", "ai openai chatgpt gpt-5 gpt-6 anthropic claude claude-5 gemini gemini-3 xai grok deepseek llm llms agi " +
		"big-tech apple google microsoft meta amazon tiktok-ban iphone robotics robots humanoid self-driving robotaxi " +
		"waymo semiconductors chips cybersecurity cloudflare internet social-media twitter x perplexity cursor app-store apps " +
		"tech-companies software databricks starlink ai-models"},
	// The order of the next three rows matters. Elections come first, because the winner of a vote is politics
	// wherever it is held. War and foreign affairs come before the people who govern.
	{"politics", "elections world-elections global-elections us-election us-elections us-presidential-election primaries " +
		"midterms midterms-2026 2026-midterms house-races senate-races governor-races mayoral-elections nyc-mayor " +
		"presidential-election parliamentary-elections 2028-election main-election referendum polls polling approval " +
		"approval-rating trump-approval trump-approval-rating macro-election republican-primary democratic-primary " +
		"snap-election"},
	{"world", "geopolitics macro-geopolitics world-affairs ukraine ukraine-peace-deal ukraine-russia russia-ukraine-war " +
		"israel gaza palestine iran hamas hezbollah houthi houthis yemen syria lebanon taiwan china-taiwan north-korea " +
		"south-korea-north-korea venezuela military-strikes military-clash military ceasefire war wars nato nuclear " +
		"nuclear-weapons strait-of-hormuz middle-east foreign-policy sanctions greenland putin zelensky zelenskyy khamenei " +
		"reza-pahlavi netanyahu trump-putin trump-zelenskyy security-guarantee ukraine-map united-nations kashmir " +
		"panama-canal coup terrorism peace nobel-peace-prize cuba"},
	{"politics", "trump trump-presidency trump-cabinet biden vance jd-vance harris kamala-harris newsom aoc sanders mamdani " +
		"rfk-jr congress senate house us-government government-shutdown us-government-shutdown scotus supreme-court courts " +
		"trials justice doj fbi epstein epstein-files cabinet impeachment resign immigration ice deportations deportation doge " +
		"gun-control abortion border budget executive-order executive-orders pardons pardon indictments insurrection-act " +
		"starmer keir macron le-pen merz carney trudeau milei lula bolsonaro meloni orban erdogan poilievre farage keir-starmer " +
		"us-current-affairs us-politics uk-politics global-politics democrats republicans gop dnc rnc governor mayor " +
		"redistricting filibuster white-house cabinet-exits legislation legal law prison guilty conspiracy minnesota " +
		"free-speech voting"},
	// Broad subjects: the navigation of the source's site.
	{"sports", "sports"},
	{"health", "health"},
	{"climate", "weather climate climate-weather natural-disasters natural-disaster environment"},
	{"crypto", "crypto cryptocurrency"},
	{"finance", "finance investing markets"},
	{"economics", "economy economics economic"},
	{"technology", "tech technology"},
	{"science", "science"},
	{"finance", "business companies"},
	{"culture", "pop-culture culture mentions mention-markets elon-musk elon musk"},
	{"politics", "politics"},
	{"world", "world global international france germany uk england united-kingdom europe eu russia china india japan " +
		"canada mexico brazil argentina turkey pakistan saudi-arabia poland romania hungary south-korea africa asia latin-america " +
		"australia spain italy israel-x-hamas syria-war denmark"},
}

// silent are slugs that say how a question is shown, traded or repeated, but not what it is about.
var silent = words("all games new featured trending recurring parlays hit-first hit-price up-or-down multi-strikes weekly monthly " +
	"daily hourly yearly annual 1h 4h 5m 15m 30m pre-market hide-from-new parent-for-derivative derivatives derivative " +
	"breaking breaking-news neg-risk hfc carousel open-source-intel finance-updown pyth-finance equity-daily daily-close " +
	"crypto-updown exclusive popular live main yes-no scheduled placeholder today tomorrow this-week this-month")

// silentForm matches families of such slugs: years, rewards and retired tags.
var silentForm = regexp.MustCompile(`^(\d{4}|\d{4}-predictions|\d+[mhdw]|earn-.*|rewards?(-.*)?|deprec(ated)?-.*)$`)

// firstSubject maps a slug to the first row of subjects that contains it.
var firstSubject = func() map[string]int {
	at := map[string]int{}
	for i, s := range subjects {
		for slug := range strings.FieldsSeq(s.slugs) {
			if _, twice := at[slug]; !twice {
				at[slug] = i
			}
		}
	}
	return at
}()

func words(s string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

// CategoryOf returns the category that tags stand for, or "" if they stand for none. The order of the tags
// doesn't matter. Labels and legacy categories ("US-current-affairs") are looked up in the same table.
func CategoryOf(tags ...string) string {
	best := len(subjects)
	for _, tag := range tags {
		if i, known := firstSubject[TagSlug(tag)]; known {
			best = min(best, i)
		}
	}
	if best == len(subjects) {
		return ""
	}
	return subjects[best].category
}

// TagKnown reports whether a tag is in the table, or is known to say nothing about the category.
func TagKnown(tag string) bool {
	slug := TagSlug(tag)
	_, known := firstSubject[slug]
	return known || silent[slug] || silentForm.MatchString(slug)
}

// TagSlug normalises a tag's slug, or its label if it has no slug: lower case, with hyphens for white space and
// "&".
func TagSlug(tag string) string {
	split := func(r rune) bool { return r == ' ' || r == '&' || r == '\t' || r == '\n' || r == '\u00a0' }
	return strings.Join(strings.FieldsFunc(strings.ToLower(tag), split), "-")
}

// MaxTags is the largest number of tags stored for a market.
const MaxTags = 100

// TagSlugs returns the normalised slugs of tags, without duplicates, in the given order and at most MaxTags.
func TagSlugs(tags ...string) []string {
	var slugs []string
	for _, tag := range tags {
		slug := TagSlug(tag)
		if slug == "" || len(slugs) == MaxTags || slices.Contains(slugs, slug) {
			continue
		}
		slugs = append(slugs, slug)
	}
	return slugs
}
