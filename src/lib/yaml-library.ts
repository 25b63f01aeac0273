// What is used of the YAML library, as a module that is loaded on first use.

export { isMap, isNode, isScalar, isSeq, Lexer, LineCounter, parse, parseDocument, stringify, visit } from 'yaml'
