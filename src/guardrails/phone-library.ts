// What is used of the library for telephone numbers, as a module that is loaded on first use.

export { findPhoneNumbersInText } from 'libphonenumber-js/min'
