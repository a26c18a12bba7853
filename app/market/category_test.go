package market_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/market"
)

// questions are 100 real questions of Polymarket, with the slugs of their tags and the category that a person
// chose. Questions marked with * have their recorded tags. The others have tags that Polymarket gives to
// similar questions.
const questions = `
finance    | *MicroStrategy sells any Bitcoin by March 31, 2026? | finance economy business 2025-predictions crypto microstrategy stocks
finance    | *MicroStrategy sells any Bitcoin by June 30, 2026? | finance economy business 2025-predictions crypto microstrategy stocks
finance    | *Kraken IPO by March 31, 2026? | exchange tech crypto finance business 2025-predictions featured ipos
finance    | *Kraken IPO by December 31, 2026? | exchange tech crypto finance business 2025-predictions featured ipos
politics   | *Macron out by June 30, 2026? | france politics macron world 2025-predictions resign
politics   | *Macron out in 2025? | france politics macron world 2025-predictions resign
politics   | *Will the next UK election be called by June 30, 2026? | starmer uk pedophile england
politics   | *Will the next UK election be called by December 31? | starmer uk pedophile england
world      | *China x India military clash by December 31, 2026? | india politics china geopolitics world
world      | *NATO/EU troops fighting in Ukraine in 2025? | russia politics geopolitics ukraine world nato eu security-guarantee trump-zelenskyy
politics   | *Starmer out by June 30, 2026? | starmer uk keir grooming-gangs politics world
politics   | *Starmer out by December 31, 2026? | starmer uk keir grooming-gangs politics world
world      | *Ukraine recognizes Russian sovereignty over its territory by June 30, 2026? | world trump-presidency putin trump politics geopolitics foreign-policy ukraine zelensky trump-putin trump-zelenskyy
politics   | *Ukraine election called by June 30, 2026? | world geopolitics ukraine politics foreign-policy global-elections trump-zelenskyy
world      | *Will any country leave NATO by June 30, 2026? | world nato geopolitics politics
world      | *Will China invade Taiwan by end of 2026? | politics world geopolitics foreign-policy china earn-4
politics   | *Will Stephen A. Smith win the 2028 Democratic presidential nomination? | world-elections global-elections elections politics us-presidential-election earn-4 primaries
politics   | *Will Gretchen Whitmer win the 2028 Democratic presidential nomination? | world-elections global-elections elections politics us-presidential-election earn-4 primaries
crypto     | *Will the price of Bitcoin be above $64,000 on March 11? | bitcoin weekly multi-strikes crypto crypto-prices recurring hide-from-new
culture    | Russia-Ukraine Ceasefire before GTA VI? | politics pop-culture gta-vi
culture    | New Rihanna Album before GTA VI? | politics pop-culture gta-vi
culture    | New Playboi Carti Album before GTA VI? | politics pop-culture gta-vi
culture    | Will Jesus Christ return before GTA VI? | politics pop-culture gta-vi
culture    | Trump out as President before GTA VI? | politics pop-culture gta-vi
culture    | Will China invades Taiwan before GTA VI? | politics pop-culture gta-vi
culture    | Will bitcoin hit $1m before GTA VI? | politics pop-culture gta-vi
crypto     | *Ethereum Up or Down - August 8, 12:15PM-12:30PM ET | up-or-down crypto-prices hide-from-new recurring crypto ethereum 15M
crypto     | Bitcoin Up or Down - March 12, 5:20AM-5:25AM ET | crypto bitcoin crypto-prices recurring up-or-down hide-from-new 5M
sports     | Malaga CF vs. Albacete | sports games soccer la-liga-2
sports     | *PGA Tour: Travelers Championship Winner | sports golf
crypto     | *Will Bitcoin hit $70k or $90k first? | bitcoin crypto-prices hit-first crypto
economics  | *Predicted Fed rate under each Fed Chair | parlays hide-from-new fed-chair
climate    | Highest temperature in Munich on June 3? | weather recurring hide-from-new daily-temperature munich
economics  | Fed decisions in the next three meetings? | fed parlays economy fed-rates fomc
world      | US strikes Iran by the end of the month? | politics iran geopolitics
climate    | Will 2025 be the hottest year on record? | climate science weather global-temp hottest-year
politics   | Will Trump deport less than 250,000? | trump-presidency politics immigration trump deportation
politics   | Will Trump deport 2,000,000 or more people? | trump-presidency politics immigration trump deportation
economics  | Will Trump & Elon reduce the deficit in 2025? | economy budget national-debt trump elon-musk
politics   | Will Elon and DOGE cut less than $50b in federal spending in 2025? | doge trump politics elon-musk
politics   | Will Elon and DOGE cut more than 200k employees in 2025? | doge trump politics elon-musk
politics   | Will Elon cut the budget by at least 10% in 2025? | doge budget politics elon-musk
economics  | Will inflation reach more than 3% in 2025? | economy inflation cpi 2025-predictions
economics  | Will inflation reach more than 10% in 2025? | economy inflation cpi 2025-predictions
economics  | Brazil unemployment below 6.3% for Q4 2025? | brazil economy unemployment macro-indicators
culture    | Will GTA 6 cost $100+? | gta-vi gaming video-games culture tech
politics   | Rojas guilty in Texas illegal abortion case? | politics abortion courts trials
politics   | Senator Eichorn guilty of soliciting a child? | politics courts minnesota
politics   | BitBoy convicted? | crypto-influencers courts trials
economics  | Negative GDP growth in 2025? | economy gdp recession
economics  | Will the U.S. collect less than $100b in revenue in 2025? | tariffs economy trump politics
economics  | Will tariffs generate >$250b in 2025? | tariffs economy trump politics
sports     | Will the Buffalo Bills win Super Bowl 2026? | sports nfl super-bowl tournament-futures
sports     | Will the Carolina Panthers win Super Bowl 2026? | sports nfl super-bowl tournament-futures
sports     | Will the Seattle Seahawks win Super Bowl 2026? | sports nfl super-bowl tournament-futures
sports     | Will the Panthers win the NFC Championship? | sports nfl nfc
sports     | Will the Eagles win the 2026 NFC Championship? | sports nfl nfc
sports     | Will the Bills win the AFC Championship? | sports nfl afc
sports     | Will the Texans win the AFC Championship? | sports nfl afc
culture    | GTA VI released before June 2026? | gta-vi gaming video-games tech pop-culture
sports     | Will Aidan Hutchinson be the 2025-2026 NFL Comeback Player of the Year? | sports nfl awards
sports     | Will Christian McCaffrey be the 2025-2026 NFL Comeback Player of the Year? | sports nfl awards
sports     | ARCH Will the match be a draw? | sports soccer euro-2024
politics   | Will Trump repeal Presidential term limits? | politics trump trump-presidency
technology | X and Truth Social merger announced before August? | twitter tech elon-musk
economics  | Will Trump impose large tariffs in his first 6 months? | politics trump tariffs economy trade-war
health     | Bird flu pandemic before August 2025? | bird-flu health pandemics science
crypto     | Katana FDV above $1B one day after launch? | crypto token-launch fdv pre-market airdrops
world      | Russia x Ukraine ceasefire by end of 2027? | politics ukraine geopolitics world trump-zelenskyy
sports     | Counter-Strike: FaZe vs illwill (BO3) - HLC Belgrade Pro Playoffs | sports esports games counter-strike-2
crypto     | edgeX FDV above $1B one day after launch? | crypto pre-market edgex fdv
sports     | NBA: Will the Mavericks beat the Grizzlies by more than 5.5 points in their December 4 matchup? | all Sports
economics  | Fed decreases interest rates by 25 bps after the March meeting? | fed fomc economy jerome-powell politics fed-rates
economics  | Who will Trump nominate as Fed Chair? | fed jerome-powell trump politics fed-chair-pick economy
politics   | US government shutdown by January 31? | politics government-shutdown congress economy trump
finance    | Will NVIDIA be the largest company in the world by market cap on March 31? | finance stocks nvidia big-tech largest-company business
finance    | S&P 500 Up or Down on March 12? | finance indicies sp-500 up-or-down daily recurring finance-updown
finance    | Gold above $3,000 at the end of the year? | finance commodities gold economy
finance    | Will Tesla beat quarterly earnings? | finance earnings tesla stocks business tech
technology | Which company has best AI model end of March? | ai tech big-tech openai google claude
technology | GPT-6 released by June 30? | ai openai tech
science    | SpaceX Starship launch by March 31? | spacex space tech science
science    | Will NASA confirm aliens exist in 2026? | aliens space science pop-culture
science    | 7.0 or above earthquake by March 31? | earthquakes natural-disasters science weather
climate    | Named storm forms before hurricane season? | hurricanes weather climate natural-disasters
health     | Measles cases in U.S. by March 31? | measles health vaccines
health     | New coronavirus pandemic in 2026? | health pandemics science covid-19
culture    | Oscars: Best Picture winner? | oscars movies culture awards pop-culture
culture    | Top song on Spotify this week? | music spotify pop-culture weekly recurring
culture    | How many tweets will Elon Musk post March 6-13? | elon-musk tweets-markets twitter pop-culture weekly recurring
culture    | Who will perform at the Super Bowl halftime show? | halftime-show music sports nfl super-bowl culture
culture    | Will Taylor Swift be pregnant in 2026? | taylor-swift celebrities pop-culture
politics   | What will Trump say during the State of the Union? | mentions trump politics
culture    | What will MrBeast say in his next video? | mentions mrbeast youtube culture
politics   | Maduro out by June 30? | resign politics
world      | US military strike on Venezuela by March 31? | venezuela military-strikes politics trump geopolitics world
world      | Israel x Hamas ceasefire phase two by March 31? | israel gaza geopolitics politics world middle-east
sports     | Will it snow during the AFC Championship game? | sports nfl weather snow
sports     | Will Carlos Alcaraz win the Australian Open? | sports tennis atp australian-open
politics   | Will the Supreme Court rule against Trump's tariff powers? | scotus supreme-court politics trump courts
`

func TestCategoryOfRealQuestions(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(questions), "\n")
	for _, line := range lines {
		parts := strings.Split(line, " | ")
		want, question, tags := strings.TrimSpace(parts[0]), parts[1], strings.Fields(parts[2])
		if got := market.CategoryOf(tags...); got != want || !slices.Contains(market.Categories, want) {
			t.Errorf("%s: got %q, want %q", question, got, want)
		}
		slices.Reverse(tags)
		if got := market.CategoryOf(tags...); got != want {
			t.Errorf("%s, tags reversed: got %q, want %q", question, got, want)
		}
	}
	if len(lines) < 100 {
		t.Errorf("got %d questions", len(lines))
	}
}

func TestCategoryOfOddTags(t *testing.T) {
	t.Parallel()
	for want, tags := range map[string][]string{
		"":           {"hide-from-new", "recurring", "earn-4", "15M", "2026-predictions", "rewards-200-45-50", "lake-omber", "", "🚀"},
		"politics":   {"US-current-affairs"},
		"crypto":     {" NFTs "},
		"health":     {"Coronavirus"},
		"sports":     {"Sports", "Weather", "games"},
		"culture":    {"Pop-Culture "},
		"world":      {"Ukraine & Russia", "World"},
		"technology": {"Tech"},
	} {
		if got := market.CategoryOf(tags...); got != want {
			t.Errorf("tags %v: got %q, want %q", tags, got, want)
		}
	}
	for _, c := range market.Categories {
		if market.CategoryOf(c) != c {
			t.Errorf("category %s: got %q, want itself", c, market.CategoryOf(c))
		}
	}
	for tag, want := range map[string]bool{"nba": true, "Hide From New": true, "earn-5": true, "2031": true, "deprec-us-election": true, "30m": true, "lake-omber": false} {
		if market.TagKnown(tag) != want {
			t.Errorf("tag %s: got known %v", tag, !want)
		}
	}
}

func TestTagSlugs(t *testing.T) {
	t.Parallel()
	got := market.TagSlugs("Hide From New", "hide-from-new", "", "  ", "Ukraine & Russia", "a/b?c=d", "ÄÖ")
	if want := []string{"hide-from-new", "ukraine-russia", "a/b?c=d", "äö"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := market.TagSlugs(strings.Fields(manyTags())...); len(got) != market.MaxTags {
		t.Errorf("%d tags were kept", len(got))
	}
}

// manyTags returns more tags than are stored.
func manyTags() string {
	var b strings.Builder
	for i := range market.MaxTags + 10 {
		b.WriteString(" t" + strings.Repeat("a", i))
	}
	return strings.TrimSpace(b.String())
}
