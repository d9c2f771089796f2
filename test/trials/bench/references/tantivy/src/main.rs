//! Tantivy as a reference: the twenty most popular rows that have all words of a query.
//!
//!     tantivy-reference index FOLDER < ROWS       {"id", "title", "description", "popularity"} per line
//!     tantivy-reference search FOLDER < QUERIES   {"query", "words", "order", "limit"} per line
//!
//! `search` prints {"ids", "ms"} per query. `words` says what a word of the query matches:
//!
//! - `exact`: the word only.
//! - `prefix`: every word that begins with it, found in the term dictionary.
//! - `indexedPrefix`: the same, but every beginning of up to 30 characters is indexed as a term. Of a longer word, only
//!   the first 30 characters count.
//!
//! `order` says how the most popular rows are found:
//!
//! - `popularity`: by the value of a fast field of each match, as in an index whose rows change.
//! - `document`: Rows are indexed by descending popularity into one segment, so the first matches are the most popular
//!   ones. A search stops at the last row of the page. An index whose rows change cannot keep this order.
//!
//! No scores are computed; positions and frequencies are not indexed. Ids are in a fast field.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::ops::Bound;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tantivy::collector::TopDocs;
use tantivy::columnar::Column;
use tantivy::directory::MmapDirectory;
use tantivy::query::{
    BooleanQuery, EmptyQuery, EnableScoring, InvertedIndexRangeQuery, Query, TermQuery,
};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{LowerCaser, SimpleTokenizer, TextAnalyzer, TokenStream};
use tantivy::{DocAddress, Index, Order, Searcher, TERMINATED, TantivyDocument, Term};

/// With more words in the dictionary, a bitset of all their rows is faster than a union that reads on demand.
const MAX_UNION: usize = 16;
/// As many as the service indexes (`MAX_WORD_CODE_POINTS`).
const MAX_INDEXED_PREFIX: usize = 30;

#[derive(Deserialize)]
struct Row {
    id: u64,
    title: String,
    description: String,
    popularity: u64,
}

#[derive(Deserialize)]
struct Request {
    query: String,
    #[serde(default)]
    words: Words,
    #[serde(default)]
    order: RowOrder,
    #[serde(default = "default_limit")]
    limit: usize,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Words {
    Exact,
    #[default]
    Prefix,
    IndexedPrefix,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum RowOrder {
    #[default]
    Popularity,
    Document,
}

fn default_limit() -> usize {
    20
}

#[derive(Serialize)]
struct Response {
    ids: Vec<u64>,
    ms: f64,
}

const ID: &str = "id";
const POPULARITY: &str = "popularity";

struct Fields {
    id: Field,
    popularity: Field,
    words: Field,
    beginnings: Field,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["index", folder] => index(Path::new(folder)),
        ["search", folder] => search(Path::new(folder)),
        _ => Err("Usage: tantivy-reference index|search FOLDER".into()),
    }
}

fn index(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut rows = io::stdin()
        .lock()
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<Result<Vec<Row>, Box<dyn Error>>>()?;
    // Among equally popular rows, the last one is first.
    rows.reverse();
    rows.sort_by_key(|row| std::cmp::Reverse(row.popularity));

    let (schema, fields) = schema();
    std::fs::create_dir_all(folder)?;
    let mut writer = Index::builder()
        .schema(schema)
        .single_segment_index_writer::<TantivyDocument>(
            MmapDirectory::open(folder)?,
            500_000_000,
        )?;
    let mut analyzer = analyzer();
    for row in rows {
        let mut words = Vec::new();
        for text in [&row.title, &row.description] {
            words.extend(split(&mut analyzer, text));
        }
        words.sort();
        words.dedup();
        let mut beginnings: Vec<&str> = words.iter().flat_map(|word| beginnings(word)).collect();
        beginnings.sort();
        beginnings.dedup();
        let mut document = TantivyDocument::default();
        document.add_u64(fields.id, row.id);
        document.add_u64(fields.popularity, row.popularity);
        for word in &words {
            document.add_text(fields.words, word);
        }
        for beginning in beginnings {
            document.add_text(fields.beginnings, beginning);
        }
        writer.add_document(document)?;
    }
    writer.finalize()?;
    Ok(())
}

fn search(folder: &Path) -> Result<(), Box<dyn Error>> {
    let index = Index::open_in_dir(folder)?;
    let fields = schema().1;
    let searcher = index.reader()?.searcher();
    let ids = searcher
        .segment_readers()
        .iter()
        .map(|reader| reader.fast_fields().u64(ID))
        .collect::<tantivy::Result<Vec<Column>>>()?;
    let mut analyzer = analyzer();
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let start = Instant::now();
        let ids = find(&searcher, &fields, &mut analyzer, &request)?
            .iter()
            .filter_map(|row| ids[row.segment_ord as usize].first(row.doc_id))
            .collect();
        let ms = start.elapsed().as_secs_f64() * 1000.0;
        serde_json::to_writer(&mut output, &Response { ids, ms })?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

fn find(
    searcher: &Searcher,
    fields: &Fields,
    analyzer: &mut TextAnalyzer,
    request: &Request,
) -> tantivy::Result<Vec<DocAddress>> {
    let queries = split(analyzer, &request.query)
        .iter()
        .map(|word| query_for(searcher, fields, request.words, word))
        .collect::<tantivy::Result<Vec<Box<dyn Query>>>>()?;
    if queries.is_empty() {
        return Ok(Vec::new());
    }
    let query = BooleanQuery::intersection(queries);
    match request.order {
        RowOrder::Popularity => most_popular(searcher, &query, request.limit),
        RowOrder::Document => first(searcher, &query, request.limit),
    }
}

fn most_popular(
    searcher: &Searcher,
    query: &BooleanQuery,
    limit: usize,
) -> tantivy::Result<Vec<DocAddress>> {
    let top = TopDocs::with_limit(limit).order_by_fast_field::<u64>(POPULARITY, Order::Desc);
    let found = searcher.search(query, &top)?;
    Ok(found.into_iter().map(|(_, address)| address).collect())
}

fn first(
    searcher: &Searcher,
    query: &BooleanQuery,
    limit: usize,
) -> tantivy::Result<Vec<DocAddress>> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let mut found = Vec::with_capacity(limit);
    for (segment, reader) in searcher.segment_readers().iter().enumerate() {
        let mut rows = weight.scorer(reader, 1.0)?;
        while rows.doc() != TERMINATED && found.len() < limit {
            found.push(DocAddress::new(segment as u32, rows.doc()));
            rows.advance();
        }
    }
    Ok(found)
}

fn query_for(
    searcher: &Searcher,
    fields: &Fields,
    words: Words,
    word: &str,
) -> tantivy::Result<Box<dyn Query>> {
    match words {
        Words::Exact => Ok(term_query(fields.words, word)),
        Words::Prefix => prefix_query(searcher, fields.words, word),
        Words::IndexedPrefix => Ok(term_query(fields.beginnings, cut(word))),
    }
}

fn term_query(field: Field, text: &str) -> Box<dyn Query> {
    let term = Term::from_field_text(field, text);
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

fn prefix_query(
    searcher: &Searcher,
    field: Field,
    prefix: &str,
) -> tantivy::Result<Box<dyn Query>> {
    let end = format!("{prefix}\u{10FFFF}");
    let mut words = Vec::new();
    for reader in searcher.segment_readers() {
        let inverted = reader.inverted_index(field)?;
        let mut stream = inverted.terms().range().ge(prefix).lt(&end).into_stream()?;
        while words.len() <= MAX_UNION && stream.advance() {
            words.push(String::from_utf8_lossy(stream.key()).into_owned());
        }
    }
    if words.is_empty() {
        return Ok(Box::new(EmptyQuery));
    }
    if words.len() > MAX_UNION {
        return Ok(Box::new(InvertedIndexRangeQuery::new(
            Bound::Included(Term::from_field_text(field, prefix)),
            Bound::Excluded(Term::from_field_text(field, &end)),
        )));
    }
    let queries = words.iter().map(|word| term_query(field, word)).collect();
    Ok(Box::new(BooleanQuery::union(queries)))
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    // Split before they are added, so that a row's words are indexed once.
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let options = TextOptions::default().set_indexing_options(indexing);
    let fields = Fields {
        id: builder.add_u64_field(ID, FAST),
        popularity: builder.add_u64_field(POPULARITY, FAST),
        words: builder.add_text_field("words", options.clone()),
        beginnings: builder.add_text_field("beginnings", options),
    };
    (builder.build(), fields)
}

fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(LowerCaser)
        .build()
}

fn split(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut tokens = analyzer.token_stream(text);
    while tokens.advance() {
        words.push(tokens.token().text.clone());
    }
    words
}

fn beginnings(word: &str) -> impl Iterator<Item = &str> {
    let ends = word.char_indices().skip(1).map(|(at, _)| at);
    ends.chain([word.len()])
        .take(MAX_INDEXED_PREFIX)
        .map(|end| &word[..end])
}

fn cut(word: &str) -> &str {
    beginnings(word).last().unwrap_or(word)
}
